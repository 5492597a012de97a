// As much of the Chat Completions API as an agent needs for calls of its shell tool: the first answer runs the command
// of the first argument by the tool of the second (or third, …) argument, the next one ends. A first argument that is
// a list has the commands, one an answer, or [tool, input] of calls of other tools. What the tool answered goes to
// standard output; the first line is the port.
import { createServer } from "node:http";

const [first, ...tools] = process.argv.slice(2);
const commands = /^\[["[]/.test(first) ? JSON.parse(first) : [first];

let printed = 0;
const printNew = (results) => {
  for (const result of results.slice(printed)) console.log(JSON.stringify(result));
  printed = Math.max(printed, results.length);
};

const server = createServer((q, r) => {
  const parts = [];
  q.on("data", (part) => parts.push(part));
  q.on("end", () => {
    if (!q.url.endsWith("/chat/completions")) {
      r.writeHead(200, { "content-type": "application/json" });
      return r.end('{"object": "list", "data": [{"id": "some-model", "object": "model"}]}');
    }
    const body = JSON.parse(Buffer.concat(parts).toString());
    const results = body.messages.filter((m) => m.role === "tool");
    printNew(results);
    const step = commands[results.length];
    const known = (body.tools ?? []).map((t) => t.function?.name);
    const [tool, input] = Array.isArray(step) ? step : [tools.find((t) => known.includes(t)), { command: step, description: "look" }];
    if (!tool && known.length > 0) console.log(JSON.stringify({ tools: known }));
    const call = step && known.includes(tool);
    const delta = call
      ? { role: "assistant", content: null, tool_calls: [{ index: 0, id: `call_${results.length}`, type: "function",
          function: { name: tool, arguments: JSON.stringify(input) } }] }
      : { role: "assistant", content: "done" };
    const finish = call ? "tool_calls" : "stop";
    const base = { id: `chat_${results.length}`, created: 1, model: body.model ?? "some-model" };
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    if (!body.stream) {
      r.writeHead(200, { "content-type": "application/json" });
      return r.end(JSON.stringify({ ...base, object: "chat.completion", usage,
        choices: [{ index: 0, message: delta, finish_reason: finish }] }));
    }
    r.writeHead(200, { "content-type": "text/event-stream" });
    const send = (choice, more) => r.write(`data: ${JSON.stringify({ ...base, object: "chat.completion.chunk", choices: [choice], ...more })}\n\n`);
    send({ index: 0, delta, finish_reason: null });
    send({ index: 0, delta: {}, finish_reason: finish }, { usage });
    r.end("data: [DONE]\n\n");
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
