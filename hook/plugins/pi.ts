// Written by `sbx hook install pi`; `--remove` deletes it. sandboxd judges each tool before it runs, and a command
// runs in its sandbox. An error refuses the call.
import { spawn } from "node:child_process";

const command = COMMAND;

const ask = (event) =>
  new Promise((resolve, reject) => {
    const hook = spawn("/bin/sh", ["-c", command], { cwd: event.cwd, stdio: ["pipe", "pipe", "pipe"] });
    let out = "";
    let errors = "";
    hook.stdout.on("data", (part) => (out += part));
    hook.stderr.on("data", (part) => (errors += part));
    hook.stdin.on("error", () => {});
    hook.on("error", reject);
    hook.on("close", (code) => {
      if (code !== 0) return reject(new Error(errors.trim() || `sbx hook ended with status ${code}`));
      try {
        resolve(out.trim() ? JSON.parse(out) : {});
      } catch (error) {
        reject(error);
      }
    });
    hook.stdin.end(JSON.stringify(event));
  });

export default function (pi) {
  const event = (name, call, ctx) => ({
    hook_event_name: name,
    session_id: ctx.sessionManager?.getSessionId?.() ?? String(process.pid),
    tool_use_id: call.toolCallId,
    cwd: ctx.cwd,
    tool_name: call.toolName,
    tool_input: call.input,
  });
  pi.on("tool_call", async (call, ctx) => {
    const answer = await ask(event("PreToolUse", call, ctx));
    const { permissionDecision, permissionDecisionReason, updatedInput } = answer.hookSpecificOutput ?? {};
    if (permissionDecision !== "allow") {
      return { block: true, reason: permissionDecisionReason ?? "sandboxd refused this call." };
    }
    Object.assign(call.input, updatedInput);
  });
  pi.on("tool_result", async (call, ctx) => {
    if (call.toolName !== "bash") return;
    const answer = await ask(event("PostToolUse", call, ctx));
    if (answer.continue === false) return { content: [{ type: "text", text: answer.stopReason }], isError: true };
  });
}
