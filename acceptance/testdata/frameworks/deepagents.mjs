// An agent of LangChain's deepagents, whose model is at the port of the argument.
import { ChatOpenAI } from "@langchain/openai";
import { createDeepAgent } from "deepagents";
import { Agent } from "sandboxd-client";
import { SandboxdBackend } from "sandboxd-client/frameworks";

const configuration = { baseURL: `http://127.0.0.1:${process.argv[2]}/v1` };
const model = new ChatOpenAI({ model: "some-model", apiKey: "none", configuration });
const session = await new Agent().session({ agent: "framework deepagents" });
await session.use((s) => {
  const agent = createDeepAgent({ model, backend: new SandboxdBackend(s), systemPrompt: `The project is ${s.root}.` });
  return agent.invoke({ messages: [{ role: "user", content: "look" }] }, { recursionLimit: 200 });
});
