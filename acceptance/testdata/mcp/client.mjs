// Drives `sbx mcp` with the client of the Model Context Protocol's TypeScript SDK.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const client = new Client({ name: "test", version: "1" });
await client.connect(new StdioClientTransport({ command: process.argv[2], args: ["mcp"], env: process.env }));

const call = async (name, args, options) => {
  const r = await client.callTool({ name, arguments: args }, undefined, options);
  return { text: r.content.map((c) => c.text).join(""), ...r.structuredContent, isError: r.isError ?? false };
};

const { tools } = await client.listTools();
assert.deepEqual(tools.map((t) => t.name).sort(), ["approve", "cancel", "changes", "edit", "exec", "grep", "list", "output", "read", "status", "undo", "write"]);

const ran = await call("exec", { command: "cat README" });
assert.deepEqual([ran.exit_code, ran.stdout, ran.isError], [0, "hello\n", false]);
const refused = await call("exec", { command: "touch no thing" });
assert.ok(refused.isError);
assert.match(refused.text, /no means no/);

assert.match((await call("write", { path: "other", content: "text\n" })).undo_id, /./);
assert.equal((await call("read", { path: "other" })).text, "text\n");
assert.ok(!(await call("edit", { path: "other", edits: [{ find: "text", replace: "word" }] })).isError);
assert.match((await call("grep", { path: ".", pattern: "^word" })).text, /other:1:word/);
assert.match((await call("list", { path: "." })).text, /other/);
assert.ok(!(await call("undo", { undo_id: "last" })).isError);
assert.equal((await call("read", { path: "other" })).text, "text\n");
assert.equal((await call("status", {})).trusted, true);

const long = await call("exec", { command: "sleep 600", wait_ms: 300 });
assert.ok(long.running && long.handle);
assert.equal((await call("output", { handle: long.handle, wait_ms: 50 })).running, true);
assert.equal((await call("cancel", { handle: long.handle })).running, false);

const taken = new AbortController();
const back = call("exec", { command: "sleep 655" }, { signal: taken.signal });
await sleep(1000);
taken.abort();
await assert.rejects(back);

const prompt = JSON.parse((await call("approve", { tool_name: "Bash", input: { command: "ls" }, tool_use_id: "toolu_1" })).text);
assert.deepEqual(prompt, { behavior: "allow", updatedInput: { command: "ls" } });
const denied = JSON.parse((await call("approve", { tool_name: "mcp__x__y", input: { q: "no" } })).text);
assert.equal(denied.behavior, "deny");
assert.match(denied.message, /no means no/);

await client.close();
console.log("all is as it should be");
