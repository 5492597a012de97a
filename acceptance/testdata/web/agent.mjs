// An agent, in a process of its own: node agent.mjs SOCKET REQUEST…, where each
// REQUEST is JSON: {"method","path","body"}. "$SESSION" in a body is the session
// that was opened first. The answers are printed, one a line, in order.
import http from "node:http";

const [socketPath, ...requests] = process.argv.slice(2);
let session, secret;

function send(method, path, body) {
  return new Promise((resolve, reject) => {
    const headers = { "Content-Type": "application/json" };
    if (secret) headers.Authorization = "Bearer " + secret;
    const r = http.request({ socketPath, method, path, headers }, (answer) => {
      let s = "";
      answer.setEncoding("utf8").on("data", (d) => (s += d)).on("end", () => resolve(s.trim()));
    });
    r.on("error", reject);
    r.end(JSON.stringify(body).replaceAll("$SESSION", session ?? ""));
  });
}

const opened = JSON.parse(await send("POST", "/v1/sessions", { agent: process.env.AGENT ?? "tester", label: process.env.LABEL ?? "", cwd: process.cwd() }));
({ id: session, secret } = opened);
console.log(JSON.stringify(opened));
for (const text of requests) {
  const { method = "POST", path, body = {}, times = 1 } = JSON.parse(text);
  for (let i = 0; i < times; i++) console.log(await send(method, path, JSON.parse(JSON.stringify(body).replaceAll("$I", String(i)))));
}
if (process.env.STAY) await new Promise((r) => process.stdin.on("end", r).resume());
