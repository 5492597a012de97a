// An agent of the Claude Agent SDK, whose model is at the port of the argument.
import { query } from "@anthropic-ai/claude-agent-sdk";
import { claudeHooks } from "sandboxd-client/frameworks";

const env = { ...process.env, ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: `http://127.0.0.1:${process.argv[2]}`,
  DISABLE_TELEMETRY: "1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1" };
const options = { env, hooks: claudeHooks({ version: process.argv[3] }), settingSources: [] };
for await (const message of query({ prompt: "look", options })) {
  if (message.type === "result" && message.is_error) throw new Error(JSON.stringify(message));
}
