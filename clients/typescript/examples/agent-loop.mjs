// An agent: a model that calls tools, every call supervised by sandboxd.
//
//     node agent-loop.mjs [SCRIPT]
//
// The model here is a script, so that the example runs without an account: a
// JSON list of tool calls, one a turn. Put a real one into next; everything else
// stays as it is.
import { readFileSync } from "node:fs";
import { Agent, Denied, requiresApproval } from "../dist/index.js";

const script = process.argv[2]
  ? JSON.parse(readFileSync(process.argv[2], "utf8"))
  : [
      { tool: "bash", args: { command: "ls" } },
      { tool: "bash", args: { command: "rm -rf /" } },
      { tool: "send_email", args: { to: "anna@example.org", subject: "done", body: "…" } },
    ];

/** Stands for a language model: given what its last call answered, it says which tool to call next, or nothing. */
const model = { next: (_answer) => script.shift() };

const tools = (s) => ({
  bash: async ({ command }) => {
    const r = await s.run(command);
    return `exit ${r.code}\n${r.out}${r.err}`;
  },
  send_email: requiresApproval(async function send_email({ to }) {
    return `sent to ${to}`;
  }, { description: (a) => `Send email to ${a.to}: ${a.subject}`, excludeKeys: ["body"] }),
});

const session = await new Agent().session({ agent: "agent-loop.mjs" });
await session.use(async (s) => {
  const offered = tools(s);
  let answer;
  for (let call = model.next(answer); call; call = model.next(answer)) {
    try {
      answer = await offered[call.tool](call.args);
      console.log(`${call.tool}: ${answer.trim()}`);
    } catch (e) {
      answer = e.message; // the model reads why, and what to do instead
      console.log(`${call.tool}: ${e instanceof Denied ? `refused (${e.code})` : `failed: ${answer}`}`);
      if (e instanceof Denied && e.mode === "hard") break; // a person wants to be heard first
    }
  }
});
