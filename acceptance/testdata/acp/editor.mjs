// An editor by the client of @agentclientprotocol/sdk: it starts the agent, sends one prompt in a session for the
// directory, refuses what it is asked, and prints that, how the turn ended, and the agent's exit status.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [sdk, cwd, ...argv] = process.argv.slice(2);
const acp = await import(pathToFileURL(`${sdk}/dist/v1/stable/acp.js`));
const agent = spawn(argv[0], argv.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
const say = (what, v) => console.log(JSON.stringify({ [what]: v }));
const ended = new Promise((done) => agent.on("exit", done));
process.on("uncaughtException", (e) => { if (e.message !== "ACP connection closed") throw e; }); // the agent's end
const app = acp.client({ name: "editor" });
app.onRequest(acp.methods.client.session.requestPermission, (c) => {
  const { toolCall, options } = c.params ?? c;
  say("asked", toolCall.title);
  return { outcome: { outcome: "selected", optionId: options.find((o) => o.kind.startsWith("reject")).optionId } };
});
app.onNotification(acp.methods.client.session.update, () => {});
const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
await app.connectWith(stream, async (ctx) => {
  await ctx.request(acp.methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
  const { sessionId } = await ctx.request(acp.methods.agent.session.new, { cwd, mcpServers: [] });
  const prompt = [{ type: "text", text: "look" }];
  say("end", (await ctx.request(acp.methods.agent.session.prompt, { sessionId, prompt })).stopReason);
  agent.stdin.end();
  say("exit", await ended);
  process.exit(0);
});
