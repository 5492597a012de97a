// As much of the Messages API as Claude Code needs for calls of its tools: the
// first answer calls Bash, or the tool of the second argument, with the command of the
// first argument, and the next one ends. A first argument that is a list has the calls,
// [name, input] each or a command for Bash, one an answer. What the tools answered goes to standard output;
// the first line is the port.
import { createServer } from "node:http";

const [command, tool = "Bash"] = process.argv.slice(2);
const step = (c) => (Array.isArray(c) ? c : [tool, { command: c, description: "look" }]);
const steps = (/^\[["[]/.test(command) ? JSON.parse(command) : [command]).map(step);

let printed = 0;
const printNew = (results) => {
  for (const result of results.slice(printed)) console.log(JSON.stringify(result));
  printed = Math.max(printed, results.length);
};

const event = (r, type, data) => r.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);

const server = createServer((q, r) => {
  let text = "";
  q.on("data", (part) => (text += part));
  q.on("end", () => {
    if (!q.url.startsWith("/v1/messages") || q.url.includes("count_tokens")) {
      r.writeHead(200, { "content-type": "application/json" });
      return r.end('{"input_tokens": 1}');
    }
    const body = JSON.parse(text);
    const results = body.messages.flatMap((m) => (Array.isArray(m.content) ? m.content.filter((c) => c.type === "tool_result") : []));
    printNew(results);
    const [name, input] = steps[results.length] ?? [];
    const call = (body.tools ?? []).some((t) => t.name === name);
    if (results.length === 0 && !call && body.tools?.length) console.log(JSON.stringify({ tools: body.tools.map((t) => t.name) }));
    r.writeHead(200, { "content-type": "text/event-stream" });
    event(r, "message_start", { message: { id: "msg_1", type: "message", role: "assistant", model: body.model, content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } } });
    if (call) {
      event(r, "content_block_start", { index: 0, content_block: { type: "tool_use", id: `toolu_0${results.length}`, name, input: {} } });
      event(r, "content_block_delta", { index: 0, delta: { type: "input_json_delta", partial_json: JSON.stringify(input) } });
    } else {
      event(r, "content_block_start", { index: 0, content_block: { type: "text", text: "" } });
      event(r, "content_block_delta", { index: 0, delta: { type: "text_delta", text: "done" } });
    }
    event(r, "content_block_stop", { index: 0 });
    event(r, "message_delta", { delta: { stop_reason: call ? "tool_use" : "end_turn", stop_sequence: null }, usage: { output_tokens: 1 } });
    event(r, "message_stop", {});
    r.end();
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
