// Makes the requests of the conformance suite with the TypeScript client; see
// driver.py for the form. The client's folder is the argument.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { Agent, Approver, SandboxdError } = await import(pathToFileURL(process.argv[2] + "/index.js").href);

async function serve(request) {
  const answer = { id: request.id };
  try {
    const client = request.socket.split("/").pop().includes("approver") ? new Approver(request.socket) : new Agent(request.socket, request.secret ?? "");
    const name = request.op.replace(/\.(.)/, (_, c) => c.toUpperCase());
    const result = request.params ? client[name](request.params) : client[name]();
    if (result[Symbol.asyncIterator]) {
      answer.events = [];
      for await (const event of result) {
        answer.events.push(event);
        if (event.type === request.until) break;
      }
    } else {
      answer.answer = await result;
    }
  } catch (e) {
    answer.error = e instanceof SandboxdError ? { code: e.code, status: e.status, message: e.message } : { code: "client", status: 0, message: String(e) };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}

for await (const line of createInterface({ input: process.stdin })) void serve(JSON.parse(line));
process.exit(0);
