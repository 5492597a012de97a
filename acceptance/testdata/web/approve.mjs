// The web approver, in a real browser against the real daemon.
import fs from "node:fs";
import { sbx, agent, known, open, press, until, equal, ok, accessible, scenarios } from "./lib.mjs";

const exists = (f) => fs.existsSync(f);
const bash = (command, more = {}) => ({ path: "/v1/check", body: { session: "$SESSION", tool: "bash", command, ...more } });
const card = (page) => page.locator("article.card");
const waits = async (page, s) => { await card(page).getByText(s).first().waitFor(); };
const quiet = async (page) => { await page.getByText("Nothing waits for an answer.").waitFor(); };

const failed = await scenarios({
  async "allow"(browser) {
    const page = await open(browser);
    const run = sbx("run", "-c", "echo one > one.txt");
    await waits(page, "one.txt");
    await accessible(page, "a question");
    ok(!exists("one.txt"), "it ran before it was allowed");
    await press(page, "Allow");
    equal((await run).code, 0, "exit status");
    ok(exists("one.txt"), "it did not run");
    await quiet(page);
    equal(page.problems, [], "the browser's complaints");
  },

  async "an answer that comes too soon does not count"(browser) {
    const page = await open(browser);
    const run = sbx("run", "-c", "echo soon > soon.txt");
    await page.evaluate(() => new Promise((done) => {
      const look = () => {
        const b = [...document.querySelectorAll("button")].find((x) => x.textContent === "Allow");
        if (!b) return requestAnimationFrame(look);
        b.click();
        done();
      };
      look();
    }));
    await page.getByText("That was very quick").waitFor();
    ok(!exists("soon.txt"), "it ran");
    await press(page, "Deny");
    equal((await run).code, 126, "exit status");
  },

  async "deny with a note"(browser) {
    const page = await open(browser);
    const run = sbx("run", "-c", "echo two > two.txt");
    await waits(page, "two.txt");
    await page.getByLabel("Note to the agent").fill("use the other file");
    await press(page, "Deny");
    const r = await run;
    equal(r.code, 126, "exit status");
    ok(r.err.includes("use the other file"), "the note did not arrive: " + r.err);
    ok(!exists("two.txt"), "it ran");
  },

  async "for the session, then revoked"(browser) {
    const page = await open(browser);
    const a = agent({ STAY: "1" }, bash("touch three.txt"), bash("touch three.txt"));
    await waits(page, "three.txt");
    await page.getByLabel("Scope").selectOption("session");
    await press(page, "Allow");
    await until("the second call was answered by the grant", () => a.lines() === 3);
    await page.getByRole("link", { name: "Grants" }).click();
    await accessible(page, "grants");
    await page.getByRole("button", { name: /Withdraw/ }).first().click();
    await page.getByText("Nothing is allowed or refused beyond single calls.").waitFor();
    a.end();
    const [, first, second] = await a.done;
    equal([first.allowed, second.allowed], [true, true], "both calls");
  },

  async "always for this agent, then revoked"(browser) {
    const page = await open(browser);
    const first = known("touch always.txt");
    await waits(page, "always.txt");
    await page.getByLabel("Scope").selectOption("agent");
    await press(page, "Allow");
    equal((await first).allowed, true, "the first call");
    equal((await known("touch always.txt")).allowed, true, "the same agent in another session, unasked");
    await page.getByRole("link", { name: "Grants" }).click();
    await page.getByText("always, for this agent").waitFor();
    await page.getByRole("button", { name: /Withdraw/ }).first().click();
    await page.getByText("Nothing is allowed or refused beyond single calls.").waitFor();
    await page.getByRole("link", { name: "Questions" }).click();
    const third = known("touch always.txt");
    await waits(page, "always.txt");
    await press(page, "Deny");
    equal((await third).allowed, false, "after it was withdrawn");
  },

  async "deletes need a second yes"(browser) {
    const page = await open(browser);
    fs.writeFileSync("doomed.txt", "x");
    const run = sbx("run", "-c", "rm -r doomed.txt");
    await waits(page, "doomed.txt");
    await press(page, "Allow");
    await page.getByText("It deletes something.").waitFor(); // U13: of what, and two words as in the terminal
    await page.locator(".again pre").getByText("rm -r doomed.txt").waitFor();
    await accessible(page, "the second confirmation");
    await press(page, "Allow");
    await page.getByText("Those are not the two words").first().waitFor();
    ok(exists("doomed.txt"), "one yes was enough");
    await page.getByLabel("The two words").fill(await page.locator(".again .code").textContent());
    await press(page, "Allow");
    equal((await run).code, 0, "exit status");
    ok(!exists("doomed.txt"), "it did not run");
  },

  async "a diff whose lines look like its head"(browser) {
    const page = await open(browser);
    fs.writeFileSync("query.sql", "-- old\nselect 1;\n");
    const run = sbx("file", "edit", "query.sql", "--find", "-- old", "--replace", "++ new");
    await waits(page, "query.sql");
    equal(await page.locator(".diff .del").allTextContents(), ["-- old"], "what goes");
    equal(await page.locator(".diff .add").allTextContents(), ["++ new"], "what comes");
    equal(await page.locator(".diff .file").count(), 2, "lines of the head");
    await press(page, "Deny");
    equal((await run).code, 126, "exit status");
    await quiet(page);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("You are signed out.").waitFor();
    await page.waitForTimeout(600); // U15: what came then said that the browser is not known
    ok(await page.getByText("You are signed out.").isVisible(), "it says something else");
    equal(await page.getByText(/the connection broke|not known/).count(), 0, "what a signed-out page complains of");
    equal(await page.locator("#link").textContent(), "not connected", "the state of the connection");
  },

  async "a record that was changed"(browser) {
    const log = process.env.SBX_STATE_DIR + "/audit/00000001.jsonl";
    const flip = () => {
      const file = fs.openSync(log, "r+");
      const byte = Buffer.alloc(1);
      fs.readSync(file, byte, 0, 1, 100);
      byte[0] ^= 1;
      fs.writeSync(file, byte, 0, 1, 100);
      fs.closeSync(file);
    };
    flip();
    const page = await open(browser);
    await page.getByRole("link", { name: "History" }).click();
    await page.getByText(/One damaged record was skipped: 00000001.jsonl line 1/).waitFor();
    flip();
    await page.getByRole("link", { name: "Grants" }).click();
    await page.getByRole("link", { name: "History" }).click();
    await page.getByText(/records$/).waitFor();
    equal(await page.getByText("was skipped").count(), 0, "lines that are skipped");
  },

  async "a batch"(browser) {
    const page = await open(browser);
    const calls = ["touch b1.txt", "touch b2.txt", "touch b3.txt"];
    const next = (i) => calls.slice(i + 1).map((command) => ({ tool: "bash", command }));
    const a = agent({}, ...calls.map((c, i) => bash(c, { batch: { id: "batch-1", index: i, total: 3, remaining: next(i) } })));
    await waits(page, "b1.txt");
    await page.getByText("Call 1 of 3").waitFor();
    await page.getByText("touch b3.txt").waitFor();
    await press(page, "Allow this and what is listed");
    const lines = await a.done;
    equal(lines.slice(1).map((v) => v.allowed), [true, true, true], "the three calls");
    await quiet(page);
  },

  async "another browser is first"(browser) {
    const [one, two] = [await open(browser), await open(browser)];
    const run = sbx("run", "-c", "echo four > four.txt");
    await waits(one, "four.txt");
    await waits(two, "four.txt");
    await press(two, "Allow");
    equal((await run).code, 0, "exit status");
    await quiet(one);
    await one.getByText(/Allowed by .*web/).waitFor();
  },

  async "the connection breaks in the middle"(browser) {
    const page = await open(browser);
    const run = sbx("run", "-c", "echo five > five.txt");
    await waits(page, "five.txt");
    await page.context().setOffline(true);
    await page.evaluate(() => window.dispatchEvent(new Event("offline")));
    await page.waitForTimeout(600);
    await page.getByRole("button", { name: "Allow", exact: true }).click();
    await page.context().setOffline(false);
    equal((await run).code, 0, "exit status");
    await quiet(page);
    equal(fs.readFileSync("five.txt", "utf8"), "five\n", "it ran once");
  },

  async "keyboard only"(browser) {
    const page = await open(browser);
    const [first, second] = [sbx("run", "-c", "echo six > six.txt"), undefined];
    await waits(page, "six.txt");
    await page.waitForTimeout(600);
    await page.keyboard.press("y");
    ok(!exists("six.txt"), "y alone answered");
    await page.keyboard.press("Enter");
    equal((await first).code, 0, "exit status");
    const run = sbx("run", "-c", "echo seven > seven.txt");
    await waits(page, "seven.txt");
    await page.waitForTimeout(600);
    for (let i = 0; i < 40; i++) {
      await page.keyboard.press("Tab");
      if (await page.evaluate(() => document.activeElement?.textContent === "Deny")) break;
    }
    await page.keyboard.press("Enter");
    equal((await run).code, 126, "exit status");
  },

  async "every width, light and dark"(browser) {
    const run = sbx("run", "-c", "echo wide > " + "wide-".repeat(60) + ".txt");
    // A color scheme is the same at every width: each is looked at narrow and wide.
    for (const [width, colorScheme] of [[320, "light"], [390, "dark"], [768, "light"], [1280, "dark"]]) {
      const page = await open(browser, { viewport: { width, height: 800 }, colorScheme });
      await card(page).waitFor();
      await accessible(page, `a question at ${width} in ${colorScheme}`);
      for (const view of ["History", "Sessions", "Grants", "Host"]) {
        await page.getByRole("link", { name: view }).click();
        await page.getByRole("heading", { level: 1, name: view }).waitFor();
        await accessible(page, `${view} at ${width} in ${colorScheme}`);
        // U6: a column of one letter's width stands a word on its end.
        const narrow = await page.evaluate(() => [...document.querySelectorAll("main table td, main table th")]
          .filter((e) => e.offsetParent && e.textContent.trim().length > 3 && e.getBoundingClientRect().height > 26 * 14).map((e) => e.textContent.slice(0, 40)));
        equal(narrow, [], `tall cells in ${view} at ${width}`);
      }
      await page.context().close();
    }
    const page = await open(browser);
    await card(page).waitFor();
    await press(page, "Deny");
    await run;
  },

  async "on a phone the answer is within reach"(browser) {
    const a = agent({ STAY: "1" }, ...[1, 2, 3, 4].map((i) => ({ path: "/v1/exec", body: { session: "$SESSION", command: `touch phone-${i}.txt`, keep: true } })));
    await until("they wait", () => a.lines() === 5);
    const page = await open(browser, { viewport: { width: 390, height: 844 } });
    await page.getByRole("heading", { name: "4 questions" }).waitFor();
    const allow = page.getByRole("button", { name: "Allow", exact: true });
    await allow.waitFor();
    await page.waitForTimeout(300);
    const box = await allow.boundingBox(); // U24: it was two screens down
    ok(box.y + box.height <= 844, `Allow ends ${box.y + box.height} px down`);
    await page.getByRole("link", { name: "Sessions" }).click();
    await page.getByText(/waits for an answer/).first().waitFor(); // U17: it read "running"
    await page.getByRole("link", { name: "History" }).click();
    await page.getByLabel("Search").fill("cgroup"); // U11: found what no column shows
    await page.getByText(/^0 of \d+ records/).waitFor();
    a.end();
    for (const { id } of JSON.parse((await sbx("session", "ls", "--json")).out).sessions) await sbx("session", "close", id);
  },

  async "live output"(browser) {
    const page = await open(browser);
    const run = sbx("run", "-c", "for i in 1 2 3; do echo line $i; done; sleep 600 & wait");
    await waits(page, "line");
    await press(page, "Allow");
    await page.getByRole("link", { name: "Sessions" }).click();
    const watch = { name: /Watch output of for i in 1 2 3/ }; // U17: by its command
    await until("the command shows among the sessions", async () => {
      await page.evaluate(() => dispatchEvent(new Event("hashchange")));
      return await page.getByRole("button", watch).count();
    });
    await page.getByRole("button", watch).click();
    await page.getByRole("heading", { name: /Output of for i in 1 2 3/ }).waitFor();
    await page.getByText("line 3").waitFor();
    await page.getByRole("button", { name: "Stop command" }).click();
    await page.getByText(/ended with/).waitFor();
    ok((await run).code !== 0, "it was ended");
  },

  async "jobs are listed, read as they write, and stopped"(browser) {
    const a = agent({ AGENT: "coder", LABEL: "try the page", STAY: "1" }, { path: "/v1/exec", body: { session: "$SESSION",
      command: "(i=0; while :; do i=$((i+1)); printf 'tick %d \\033[2J\\n' $i; sleep 0.3; done) & true", keep: true } });
    const page = await open(browser, { viewport: { width: 320, height: 640 } });
    await waits(page, "tick");
    await press(page, "Allow");
    await page.getByRole("link", { name: "Sessions" }).click();
    const jobs = page.getByRole("table", { name: "Jobs" });
    await jobs.getByText("tick").waitFor(); // the page looks by itself
    await jobs.getByText("coder (it says) · try the page · process").waitFor();
    await jobs.getByText("running", { exact: true }).waitFor();
    for (const colorScheme of ["dark", "light"]) {
      await page.emulateMedia({ colorScheme });
      await accessible(page, "a job in the list, " + colorScheme);
    }
    await jobs.getByRole("button", { name: /^Show log of / }).click();
    await page.getByRole("heading", { level: 1, name: /^Log of / }).waitFor();
    const log = page.getByLabel("Log", { exact: true });
    const last = async () => Number((await log.textContent()).match(/tick (\d+)(?!.*tick)/s)?.[1] ?? 0);
    await until("it writes", last);
    const before = await last();
    await until("what it writes comes", async () => (await last()) > before + 3);
    ok((await log.textContent()).includes("\\x1b[2J") && !/\u001b/.test(await log.textContent()), "what a terminal would obey");
    for (const colorScheme of ["dark", "light"]) {
      await page.emulateMedia({ colorScheme });
      await accessible(page, "a job's log, " + colorScheme);
    }
    await page.getByRole("button", { name: "Stop job" }).click();
    await page.getByText(/^ended .*stopped by a person/).waitFor();
    equal(await page.getByRole("button", { name: "Stop job" }).count(), 0, "buttons that stop what has ended");
    await page.getByRole("button", { name: "Back" }).click();
    await jobs.getByText(/^ended .*stopped by a person/).waitFor();
    equal(JSON.parse((await sbx("jobs", "--json")).out).jobs.map((j) => Boolean(j.ended)), [true], "its jobs that ended");
    a.end();
    for (const { id } of JSON.parse((await sbx("session", "ls", "--json")).out).sessions) await sbx("session", "close", id);
    await page.getByText("No command left anything running.").waitFor();
    equal(page.problems, [], "the browser's complaints");
  },

  async "hostile strings"(browser) {
    const page = await open(browser);
    page.on("dialog", (d) => page.problems.push("a dialog: " + d.message()));
    const hostile = [
      "<script>window.hacked=1</script>", "<img src=x onerror=window.hacked=1>", "<svg/onload=window.hacked=1>", "\"><b id=hacked>x</b>", "'-window.hacked=1-'",
      "javascript:window.hacked=1", "{{constructor.constructor('window.hacked=1')()}}", "${window.hacked=1}", "&lt;script&gt;", "</pre></article><h1>Allowed</h1>",
      "<style>*{display:none}</style>", "<base href=//evil.example>", "<iframe srcdoc='<script>parent.hacked=1</script>'>", "<form action=//evil.example><button>Allow</button></form>",
      "\u202egnissim\u202c", "\u2066hidden\u2069", "a\u200bb", "a\u200d\u200cb", "\ufeffbom", "a\u00adb", "\u2028line", "\u2029paragraph", "\u0085next",
      "\u001b[2J\u001b[H", "\u001b]0;title\u0007", "\u001b]8;;http://evil.example\u001b\\\\link\u001b]8;;\u001b\\\\", "\u0007bell", "back\bspace", "over\rwritten", "\u007fdelete", "\u009b31m",
      "\u{e0041}\u{e0042}tags", "\ufe0fvariation", "\u115ffiller", "\u3164filler", "\u2800blank", "p\u0430ypal", "e\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301",
      "x" + " ".repeat(400) + "; rm -rf /", "\n".repeat(60) + "rm -rf /", "Allow\nDeny", "\u0000nul", "\ud83d\ude00",
    ];
    const asked = agent({ AGENT: "<img src=x onerror=window.hacked=1>\u202e", LABEL: "<script>window.hacked=1</script>\u202e", STAY: "1" },
      ...hostile.map((s, i) => ({ path: "/v1/exec", body: { session: "$SESSION", command: "touch hostile # " + i + " " + s.replaceAll("\n", " ").replaceAll("\u0000", ""), description: s, keep: true } })),
      ...hostile.map((s) => ({ path: "/v1/exec", body: { session: "$SESSION", argv: ["touch", s.replaceAll("\u0000", "")], keep: true } })));
    const most = 1 + 2 * hostile.length;
    await until("all are put", () => asked.lines() === most);
    await until("they are on the page", async () => (await page.locator("ol.list li").count()) >= hostile.length);
    const hidden = "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u2069\\ufeff\\u115f\\u3164\\u2800\\u{e0000}-\\u{e007f}]";
    for (const item of await page.locator("ol.list button").all()) {
      await item.click();
      await card(page).waitFor();
      const found = await page.evaluate((re) => {
        const text = document.body.innerText.match(new RegExp(re, "u"));
        const titled = [...document.querySelectorAll("*")].flatMap((e) => [...e.attributes].map((a) => a.value)).join("\n").match(new RegExp(re, "u"));
        const foreign = document.querySelectorAll("main img, main script, main style, main iframe, main form, main base, main b, main svg, main a, #hacked").length;
        return { text: text?.[0], titled: titled?.[0], foreign, hacked: window.hacked, headings: document.querySelectorAll("h1").length, title: document.title };
      }, hidden);
      equal([found.text, found.titled, found.foreign, found.hacked, found.headings], [undefined, undefined, 0, undefined, 1].map((v) => v), "what the page holds");
    }
    // What a blank run would push out of sight is counted, and in sight.
    await page.locator("ol.list button", { hasText: "# 38 " }).first().click();
    await card(page).locator("pre").first().getByText("rm -rf /").waitFor();
    for (const view of ["History", "Sessions", "Grants"]) {
      await page.getByRole("link", { name: view }).click();
      await page.getByRole("heading", { level: 1, name: view }).waitFor();
      equal(await page.evaluate((re) => [document.body.innerText.match(new RegExp(re, "u"))?.[0], window.hacked, document.querySelectorAll("main img, main script").length], hidden), [undefined, undefined, 0], view);
    }
    equal(page.problems, [], "the browser's complaints");
    asked.end();
    for (const { id } of JSON.parse((await sbx("session", "ls", "--json")).out).sessions) await sbx("session", "close", id);
  },

  async "200 wait, and 1,000 records"(browser) {
    const many = agent({ STAY: "1" }, { ...bash("pwd"), times: 1000 }, { path: "/v1/exec", body: { session: "$SESSION", command: "touch many-$I.txt", keep: true }, times: 200 });
    await until("the questions are there", () => many.lines() === 1201);
    const page = await open(browser);
    await page.getByRole("heading", { name: "200 questions" }).waitFor();
    const painted = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
    const seen = page.evaluate(() => new Promise((done) => {
      const look = () => (document.querySelector("h1")?.textContent === "201 questions" ? done(Date.now()) : requestAnimationFrame(look));
      look();
    }));
    const one = sbx("run", "-c", "touch the-newest.txt");
    const at = await seen;
    const asked = JSON.parse((await sbx("pending", "--json")).out).approvals.find((q) => q.command === "touch the-newest.txt");
    console.log(`measured\tfirst paint ${Math.round(painted)} ms with 200 questions; a new one was on the page ${at - new Date(asked.created)} ms after it was put`);
    await page.getByRole("link", { name: "History" }).click();
    await page.getByText(/of 1000 records/).waitFor();
    await page.getByLabel("Search").fill("the-newest");
    await page.getByText(/^0 of 1000|^1 of 1000/).waitFor();
    await accessible(page, "a long history");
    many.end();
    await page.getByRole("link", { name: "Questions" }).click();
    for (const { id } of JSON.parse((await sbx("session", "ls", "--json")).out).sessions) await sbx("session", "close", id);
    await one;
    await quiet(page);
  },
});
process.exit(failed ? 1 : 0);
