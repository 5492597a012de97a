// As much of the Responses API as Codex needs for calls of a tool: the first
// answer runs the command of the first argument, by Codex's own shell or, where there is
// a second argument, by the tool whose name ends in it; the next answer ends. A first
// argument that is a list has the commands, one an answer, or [server, tool, input] of calls
// of other tools, or {"operation": …} of calls of apply_patch. What the tool answered goes to standard output; the first
// line is the port.
import { createServer } from "node:http";

const [first, tool] = process.argv.slice(2);
const commands = /^\[["[]/.test(first) ? JSON.parse(first) : [first];

let printed = 0;
const printNew = (results) => {
  for (const result of results.slice(printed)) console.log(JSON.stringify(result));
  printed = Math.max(printed, results.length);
};

// The tools by name; those of a server stand in a namespace of their own.
const flat = (tools) => tools.flatMap((t) => (t.type === "namespace" ? t.tools.map((x) => ({ ...x, namespace: t.name })) : [t]));

const pick = (tools, command) => {
  const list = flat(tools);
  if (Array.isArray(command)) return list.find((t) => t.name?.endsWith(command[1]) && (t.namespace ?? t.name).includes(command[0]));
  if (tool) return list.find((t) => t.name?.endsWith(tool) && /sandboxd/.test(t.namespace ?? t.name));
  return list.find((t) => ["exec_command", "shell_command", "shell"].includes(t.name));
};

const input = (t, command) => {
  if (Array.isArray(command)) return command[2];
  const p = t.parameters?.properties ?? {};
  if (p.cmd) return { cmd: command };
  if (p.command?.type === "array") return { command: ["bash", "-lc", command] };
  return { command };
};

// A call of the API's own shell or apply_patch; undefined: the program has none.
const own = (tools, command, n) => {
  const base = { id: `sh_${n}`, call_id: `call_${n}`, status: "completed" };
  if (command?.operation) return { type: "apply_patch_call", ...base, operation: command.operation };
  if (command && tools.some((t) => t.type === "shell")) return { type: "shell_call", ...base, action: { commands: [command], timeout_ms: null, max_output_length: null } };
};

const server = createServer((q, r) => {
  const parts = [];
  q.on("data", (part) => parts.push(part));
  q.on("end", () => {
    if (!q.url.endsWith("/responses")) {
      r.writeHead(200, { "content-type": "application/json" });
      return r.end('{"models": [], "data": []}');
    }
    const body = JSON.parse(Buffer.concat(parts).toString());
    const results = body.input.filter((i) => i.type?.endsWith("_call_output"));
    printNew(results);
    const command = commands[results.length];
    const native = own(body.tools ?? [], command, results.length);
    const call = !native && command && pick(body.tools ?? [], command);
    if (results.length === 0 && !call && !native) console.log(JSON.stringify({ tools: flat(body.tools ?? []).map((t) => [t.namespace, t.name, t.type]) }));
    const item = native ? native : call
      ? { type: "function_call", id: `fc_${results.length}`, call_id: `call_${results.length}`, name: call.name, ...(call.namespace ? { namespace: call.namespace } : {}), arguments: JSON.stringify(input(call, command)) }
      : { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: "done" }] };
    const usage = { input_tokens: 1, input_tokens_details: null, output_tokens: 1, output_tokens_details: null, total_tokens: 2 };
    if (!body.stream) {
      r.writeHead(200, { "content-type": "application/json" });
      return r.end(JSON.stringify({ id: "resp_1", object: "response", status: "completed", output: [item], usage }));
    }
    r.writeHead(200, { "content-type": "text/event-stream" });
    const event = (type, data) => r.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
    event("response.created", { response: { id: "resp_1" } });
    event("response.output_item.done", { output_index: 0, item });
    event("response.completed", { response: { id: "resp_1", usage } });
    r.end();
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
