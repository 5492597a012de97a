// Written by `sbx hook install opencode`; `--remove` deletes it. sandboxd judges each tool before it runs, and a command
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

export const Sandboxd = async ({ directory }) => ({
  "tool.execute.before": async (input, output) => {
    const answer = await ask({
      hook_event_name: "PreToolUse",
      session_id: input.sessionID,
      tool_use_id: input.callID,
      cwd: directory,
      tool_name: input.tool,
      tool_input: output.args,
    });
    const { permissionDecision, permissionDecisionReason, updatedInput } = answer.hookSpecificOutput ?? {};
    if (permissionDecision !== "allow") throw new Error(permissionDecisionReason ?? "sandboxd refused this call.");
    Object.assign(output.args, updatedInput);
  },
  "tool.execute.after": async (input, output) => {
    if (input.tool !== "bash") return;
    const answer = await ask({
      hook_event_name: "PostToolUse",
      session_id: input.sessionID,
      tool_use_id: input.callID,
      cwd: directory,
      tool_name: input.tool,
      tool_input: input.args ?? {},
    });
    if (answer.continue === false) output.output = answer.stopReason;
  },
});
