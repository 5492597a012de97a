// As much of the Gemini API as Gemini CLI needs for calls of its shell tool: the first answer runs the command of the
// first argument, the next one ends. A first argument that is a list has the commands, one an answer. What the tool
// answered goes to standard output; the first line is the port.
import { createServer } from "node:http";

const [first] = process.argv.slice(2);
const commands = first.startsWith("[\"") ? JSON.parse(first) : [first];

let printed = 0;
const printNew = (results) => {
  for (const result of results.slice(printed)) console.log(JSON.stringify(result));
  printed = Math.max(printed, results.length);
};

const server = createServer((q, r) => {
  const parts = [];
  q.on("data", (part) => parts.push(part));
  q.on("end", () => {
    const answer = (content, finish) => ({ candidates: [{ index: 0, content: { role: "model", parts: [content] }, finishReason: finish }],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 }, modelVersion: "some-model" });
    const json = (value) => {
      r.writeHead(200, { "content-type": "application/json" });
      r.end(JSON.stringify(value));
    };
    if (!q.url.includes("enerateContent")) return json({ totalTokens: 1 });
    const body = JSON.parse(Buffer.concat(parts).toString());
    const results = body.contents.flatMap((c) => c.parts ?? []).filter((p) => p.functionResponse);
    printNew(results.map((p) => p.functionResponse));
    const command = commands[results.length];
    const known = (body.tools ?? []).flatMap((t) => t.functionDeclarations ?? []).map((t) => t.name);
    const call = command && known.includes("run_shell_command");
    const part = call
      ? { functionCall: { id: `call_${results.length}`, name: "run_shell_command", args: { command, description: "look" } } }
      : { text: body.generationConfig?.responseMimeType === "application/json" ? '{"reasoning": "x", "model_choice": "flash", "next_speaker": "user"}' : "done" };
    if (!q.url.includes("streamGenerateContent")) return json(answer(part, "STOP"));
    r.writeHead(200, { "content-type": "text/event-stream" });
    r.end(`data: ${JSON.stringify(answer(part, "STOP"))}\n\n`);
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
