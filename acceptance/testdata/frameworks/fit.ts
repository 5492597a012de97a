// The client's tools and backends have the types that the packages publish.
import { query, type SDKMessage } from "@anthropic-ai/claude-agent-sdk";
import { Agent, applyDiff, applyPatchTool, shellTool } from "@openai/agents";
import { generateText, type LanguageModel } from "ai";
import { createDeepAgent, type SandboxBackendProtocolV2 } from "deepagents";
import type { Session } from "sandboxd-client";
import { aiTools, claudeHooks, patchEditor, SandboxdBackend, shellExecutor } from "sandboxd-client/frameworks";

export async function all(s: Session, model: LanguageModel): Promise<(SDKMessage | string | SandboxBackendProtocolV2 | Agent)[]> {
  const messages: (SDKMessage | string | SandboxBackendProtocolV2 | Agent)[] = [];
  for await (const m of query({ prompt: "look", options: { hooks: claudeHooks({ version: "2.1.332" }) } })) messages.push(m);
  const tools = [shellTool({ shell: shellExecutor(s) }), applyPatchTool({ editor: patchEditor(s, applyDiff) })];
  messages.push(new Agent({ name: "look", tools }));
  const backend: SandboxBackendProtocolV2 = new SandboxdBackend(s);
  createDeepAgent({ backend });
  // @ts-expect-error: the types refuse what is no backend
  createDeepAgent({ backend: { id: "" } });
  // @ts-expect-error: nor are these hooks
  query({ prompt: "look", options: { hooks: { PreToolUse: [{ hooks: [() => 1] }] } } });
  messages.push(backend, (await generateText({ model, tools: aiTools(s), prompt: "look" })).text);
  return messages;
}
