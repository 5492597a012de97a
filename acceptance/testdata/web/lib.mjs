// What the browser scenarios share: the daemon's command line, agents, a page.
import { spawn } from "node:child_process";
import path from "node:path";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const require = createRequire(process.env.MODULES + "/");
const { chromium } = require("playwright-core");
const axeSource = require.resolve("axe-core/axe.min.js");
const here = path.dirname(fileURLToPath(import.meta.url));
const sbxPath = path.join(process.env.BIN, "sbx");
export const patience = 180_000; // nothing waits for its end but what fails

/** sbx runs the command line in a session of its own and gives what it printed. */
export function sbx(...args) {
  return new Promise((resolve) => {
    const c = spawn(sbxPath, args, { detached: true, stdio: ["ignore", "pipe", "pipe"] });
    let out = "", err = "";
    c.stdout.on("data", (d) => (out += d));
    c.stderr.on("data", (d) => (err += d));
    c.on("close", (code) => resolve({ code, out, err }));
  });
}

/** agent runs agent.mjs in a session of its own; done gives its lines. */
export function agent(env, ...requests) {
  const c = spawn(process.execPath, [path.join(here, "agent.mjs"), path.join(process.env.SBX_SOCKET_DIR, "agent.sock"), ...requests.map((r) => JSON.stringify(r))],
    { detached: true, stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, ...env } });
  let out = "";
  c.stdout.on("data", (d) => (out += d));
  const done = new Promise((r) => c.on("close", () => r(out.trim().split("\n").map((l) => JSON.parse(l)))));
  return { done, end: () => c.stdin.end(), lines: () => out.trim().split("\n").filter(Boolean).length };
}

/** known is an agent that is a program of its own, in a session of its own: it checks a command and gives the verdict. */
export function known(command) {
  const script = `api() { curl -s --unix-socket "$SBX_SOCKET_DIR/agent.sock" -H 'Content-Type: application/json' "$@"; }
s=$(api -d "$(jq -n --arg cwd "$PWD" '{agent: "tester", cwd: $cwd}')" http://sandboxd/v1/sessions)
api -H "Authorization: Bearer $(jq -r .secret <<<"$s")" -d "$(jq -n --arg c "$COMMAND" --arg s "$(jq -r .id <<<"$s")" '{session: $s, tool: "bash", command: $c}')" http://sandboxd/v1/check`;
  const c = spawn("/bin/bash", ["-c", script], { detached: true, stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, COMMAND: command } });
  let out = "";
  c.stdout.on("data", (d) => (out += d));
  return new Promise((r) => c.on("close", () => r(JSON.parse(out))));
}

export async function launch() {
  return chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--lang=en-US"] });
}

/** invite is a one-time address, as a person gets it. */
export async function invite() {
  const r = await sbx("web", "--no-open");
  if (r.code !== 0) throw new Error("sbx web: " + r.err);
  return r.out.trim();
}

/** open is a page that is signed in, in a browser profile of its own; address is a one-time one. */
export async function open(browser, options = {}, address = undefined) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: "en-US", ...options });
  await context.addInitScript({ path: axeSource }); // the page's own policy lets no script in
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  page.problems = [];
  page.on("pageerror", (e) => page.problems.push(String(e)));
  page.on("console", (m) => m.type() === "error" && !/ERR_CONNECTION|WebSocket connection/.test(m.text()) && page.problems.push(m.text()));
  await page.goto(address ?? (await invite()));
  await page.getByText("connected", { exact: true }).waitFor();
  return page;
}

/** press clicks a button of a card, as a person does: again where the page says that it was very quick. */
export async function press(page, name) {
  const button = page.getByRole("button", { name, exact: true });
  for (let tries = 0; ; tries++) {
    await button.waitFor();
    await page.waitForTimeout(600);
    await page.evaluate(() => document.getElementById("said").replaceChildren());
    await button.click();
    if (tries === 20 || !(await page.evaluate(() => document.getElementById("said").textContent)).includes("very quick")) return;
  }
}

export async function until(what, test) {
  for (const end = Date.now() + patience; ; await new Promise((r) => setTimeout(r, 50))) {
    const v = await test();
    if (v) return v;
    if (Date.now() > end) throw new Error(`never: ${what}`);
  }
}

export function equal(got, want, what) {
  if (JSON.stringify(got) !== JSON.stringify(want)) throw new Error(`${what}: got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
}

export function ok(v, what) {
  if (!v) throw new Error(what);
}

/** accessible wants no violation from axe, and no sideways scrolling. */
export async function accessible(page, what) {
  const found = await page.evaluate(async () => {
    const r = await window.axe.run(document, { resultTypes: ["violations"] });
    return r.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target).join(", ")}`);
  });
  equal(found, [], `axe on ${what}`);
  equal(await page.evaluate(() => (document.documentElement.scrollWidth <= innerWidth + 1 ? [] :
    [...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML.slice(0, 80)))), [], `${what} scrolls sideways`);
}

/** sheet draws pictures with titles below one another in columns. */
export async function sheet(browser, file, width, columns, pictures) {
  const page = await (await browser.newContext({ viewport: { width: columns * (width + 24) + 24, height: 400 } })).newPage();
  const one = ([title, png], i) => `<figure><figcaption>${i + 1}. ${title}</figcaption><img src="data:image/png;base64,${png.toString("base64")}"></figure>`;
  await page.setContent(`<!doctype html><style>body{margin:24px;background:#888;font:bold 16px sans-serif}div{columns:${columns};column-gap:24px}` +
    `figure{margin:0 0 24px;break-inside:avoid}img{width:100%;display:block}</style><div>` + pictures.map(one).join("") + "</div>");
  await page.screenshot({ path: file, type: "jpeg", quality: 40, fullPage: true });
}

/** scenarios runs each, prints a line about it, and says how it went. */
export async function scenarios(list) {
  const browser = await launch();
  let failed = 0;
  for (const [name, f] of Object.entries(list)) {
    if (process.env.ONLY && !name.includes(process.env.ONLY)) continue;
    try {
      await f(browser);
      console.log("ok\t" + name);
    } catch (e) {
      failed++;
      console.log("not ok\t" + name + "\t" + String(e.stack ?? e).replaceAll("\n", "\n\t"));
    }
    for (const c of browser.contexts()) await c.close();
    for (const q of JSON.parse((await sbx("pending", "--json")).out || '{"approvals":[]}').approvals) await sbx("approve", q.id, "--deny");
  }
  await browser.close();
  return failed;
}

