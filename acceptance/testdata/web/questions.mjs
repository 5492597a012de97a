// Draws docs/img/web-questions-WIDTH.jpg: twelve questions in the web approver, at the widths of a desktop and of a
// phone. make pictures runs it.
import { spawn } from "node:child_process";
import path from "node:path";
import fs from "node:fs";
import { agent, open, sbx, sheet, until, ok, scenarios } from "./lib.mjs";

const to = process.env.PICTURES;
const home = process.env.HOME;
fs.mkdirSync("notes", { recursive: true });
fs.mkdirSync("build", { recursive: true });
fs.mkdirSync(".git", { recursive: true });
fs.mkdirSync(path.join(home, "datasets"), { recursive: true });
fs.writeFileSync("notes/report.adoc", "# Weekly Report\n## Summary\nAll is well.\n");
fs.writeFileSync("build/main.o", "object\n");
fs.mkdirSync("pages", { recursive: true });
for (let i = 1; i <= 60; i++) fs.writeFileSync(`pages/${i}.html`, `${i}\n`);
fs.writeFileSync("fresh.py", 'import os\nfor name in os.listdir("pages"):\n    os.remove("pages/" + name)\n');
fs.writeFileSync(path.join(home, "datasets/prices.csv"), "id,price\n1,2\n");

const long = 'for f in notes/*.adoc; do pandoc --standalone --from asciidoc --to html5 --output "build/${f##*/}.html" "$f" && ' +
  'gzip --keep --best "build/${f##*/}.html"; done; tar --create --file report.tar build && ls -l report.tar';
const rest = ["touch two.txt", "rm three.txt"].map((command) => ({ tool: "bash", command }));
const batch = { id: "batch-1", index: 0, total: 3, remaining: rest };
/** write has sbx write a file. */
const write = (name, text) => new Promise((done) => {
  const c = spawn(path.join(process.env.BIN, "sbx"), ["file", "write", name], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
  c.on("close", done);
  c.stdin.end(text);
});
// As in docs/img/questions.sh. A function starts a question, others are arguments of sbx.
const questions = [
  ["Read, by a program that could do more", ["run", "--", "sqlite3", "shop.db", ".tables"]],
  ["Write", ["run", "-c", "date +%Y > year.txt"]],
  ["Delete", ["run", "--", "rm", "-r", "build"]],
  ["Network", ["run", "--", "curl", "-s", "https://registry.example.org/left-pad"]],
  ["Outside of the project", ["run", "--", "cat", path.join(home, "datasets/prices.csv")]],
  ["A protected name", () => write(".git/config", "[core]\n\thooksPath = hooks\n")],
  ["Edit", ["file", "edit", "notes/report.adoc", "--find", "## Summary", "--replace", "## Executive Summary"]],
  ["Batch", { path: "/v1/check", body: { session: "$SESSION", tool: "bash", command: "touch one.txt", batch } }],
  ["Landing", ["run", "--", "python3", "fresh.py"]], // it follows a yes to the command
  ["Dangerous", ["run", "-c", "rm -rf build ../other && git push --force"]],
  ["Long", ["run", "-c", long]],
  ["Text that deceives", ["run", "-c", "touch report\u202efdp.sh \u200b\u001b[2J аpple"]],
];

const failed = await scenarios({
  async "questions"(browser) {
    const wide = await open(browser, { viewport: { width: 1280, height: 900 }, deviceScaleFactor: 1 });
    const phone = await open(browser, { viewport: { width: 390, height: 844 }, deviceScaleFactor: 1, colorScheme: "dark" });
    const pictures = new Map([[wide, []], [phone, []]]);
    for (const [title, ask] of questions) {
      const asked = typeof ask === "function" ? ask() : Array.isArray(ask) ? sbx(...ask) : agent({ AGENT: "coder" }, ask).done;
      let id;
      const waits = async () => (id = JSON.parse((await sbx("pending", "--json")).out).approvals?.[0]?.id);
      await until(`${title} waits`, waits);
      if (title === "Landing") {
        const command = id;
        await sbx("approve", id, "--allow");
        await until("the landing waits", async () => (await waits()) && id !== command);
      }
      for (const [page, list] of pictures) {
        const card = page.locator(`article.card[data-id="${id}"]`);
        await card.waitFor();
        await page.waitForTimeout(700);
        const box = await card.boundingBox();
        ok(box.width <= page.viewportSize().width, `${title} is wider than the page`);
        await page.evaluate(() => document.getElementById("said").replaceChildren()); // of the question before
        list.push([title, await (page === phone ? page : card).screenshot()]);
      }
      await sbx("approve", id, "--deny");
      await asked;
    }
    await sheet(browser, path.join(to, "web-questions-1280.jpg"), 760, 3, pictures.get(wide));
    await sheet(browser, path.join(to, "web-questions-390.jpg"), 340, 4, pictures.get(phone));
  },
});
process.exit(failed ? 1 : 0);
