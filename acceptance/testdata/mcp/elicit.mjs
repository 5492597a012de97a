// A client of the TypeScript SDK whose own user is asked about what `sbx mcp` runs.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const client = new Client({ name: "test", version: "1" }, { capabilities: { elicitation: {} } });
const asked = [];
let hanging = () => {};
client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
  asked.push(params.message);
  assert.deepEqual(params.requestedSchema.properties.answer.enum, ["no", "yes"]);
  if (params.message.includes("cat README")) return { action: "accept", content: { answer: "yes" } };
  if (params.message.includes("pwd")) return { action: "decline" };
  hanging();
  return new Promise(() => {});
});
await client.connect(new StdioClientTransport({ command: process.argv[2], args: ["mcp"], env: process.env }));
const exec = async (command, options) => {
  const r = await client.callTool({ name: "exec", arguments: { command } }, undefined, options);
  return { text: r.content.map((c) => c.text).join(""), ...r.structuredContent, isError: r.isError ?? false };
};

assert.equal((await exec("cat README")).stdout, "hello\n");
const refused = await exec("pwd");
assert.ok(refused.isError);
assert.match(refused.text, /denied/);
// A call that is taken back while its question is open takes the question along.
const taken = new AbortController();
const open = new Promise((resolve) => (hanging = resolve));
const back = exec("head README", { signal: taken.signal });
await open;
taken.abort();
await assert.rejects(back);
assert.equal(asked.length, 3);
console.log("all is as it should be");
process.stdin.resume(); // until the test has looked
process.stdin.on("end", () => client.close());
