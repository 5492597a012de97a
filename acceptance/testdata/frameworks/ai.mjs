// An agent of the Vercel AI SDK, whose model is at the port of the argument.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, stepCountIs } from "ai";
import { Agent } from "sandboxd-client";
import { aiTools } from "sandboxd-client/frameworks";

const model = createOpenAICompatible({ name: "stand", baseURL: `http://127.0.0.1:${process.argv[2]}/v1` })("some-model");
const session = await new Agent().session({ agent: "framework ai" });
await session.use((s) => generateText({ model, tools: aiTools(s), stopWhen: stepCountIs(30), prompt: "look" }));
