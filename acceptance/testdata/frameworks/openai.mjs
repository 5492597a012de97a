// An agent of the OpenAI Agents SDK, whose model is at the port of the argument.
import * as sdk from "@openai/agents";
import { Agent } from "sandboxd-client";
import { patchEditor, shellExecutor } from "sandboxd-client/frameworks";

process.env.OPENAI_API_KEY = "none";
process.env.OPENAI_BASE_URL = `http://127.0.0.1:${process.argv[2]}/v1`;
sdk.setTracingDisabled(true);
const session = await new Agent().session({ agent: "framework openai" });
await session.use((s) => {
  const editor = patchEditor(s, sdk.applyDiff);
  const tools = [sdk.shellTool({ shell: shellExecutor(s) }), sdk.applyPatchTool({ editor })];
  return sdk.run(new sdk.Agent({ name: "look", model: "some-model", tools }), "look", { maxTurns: 30 });
});
