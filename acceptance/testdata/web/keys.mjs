// Keys at the web approver: the grammar of answers of the terminal, in a real browser.
import fs from "node:fs";
import path from "node:path";
import { sbx, open, until, equal, ok, accessible, scenarios } from "./lib.mjs";

const exists = (f) => fs.existsSync(f);
const card = (page) => page.locator("article.card");
const waits = async (page, s) => { await card(page).getByText(s).first().waitFor(); };
const quiet = async (page) => { await page.getByText("Nothing waits for an answer.").waitFor(); };

/** settles waits until a question is shown, and keys count. */
async function settles(page, s) {
  await waits(page, s);
  await until("keys count", async () => {
    await page.waitForTimeout(700);
    await page.keyboard.press("x");
    return (await page.getByLabel("note to the agent").inputValue()) === "x";
  });
  await page.keyboard.press("Escape");
}

const failed = await scenarios({
  // R-UX-09: the grammar of the terminal. y moved to the button, and the blank of a reason like "your test is wrong" pressed it.
  async "only what the grammar calls a yes approves"(browser) {
    const page = await open(browser);
    /** settled types keys, and gives how the command ended. */
    const settled = async (name, ...keys) => {
      const run = sbx("run", "-c", `echo keys > ${name}`);
      await settles(page, name);
      for (const k of keys) await (k.length > 1 && !/^[A-Z]/.test(k) ? page.keyboard.type(k, { delay: 30 }) : page.keyboard.press(k));
      return (await run).code;
    };
    equal(await settled("yes.txt", "yes", "Enter"), 0, "yes");
    equal(await settled("digit.txt", "1"), 0, "a digit alone");
    ok(exists("yes.txt") && exists("digit.txt"), "a yes did not run");
    equal(await settled("no.txt", "no", "Enter"), 126, "no");
    equal(await settled("arrow.txt", "y", "ArrowDown", "Enter"), 126, "an arrow from Allow");
    for (const [i, reason] of ["your test is wrong", "y is no answer ", "2 files is wrong", "just one only", "no way"].entries()) {
      const run = sbx("run", "-c", `echo reason > reason-${i}.txt`);
      await settles(page, `reason-${i}.txt`);
      await page.keyboard.type(reason, { delay: 60 });
      await page.waitForTimeout(900);
      equal(await page.locator(".does").textContent(), "Enter denies, with this as the reason. ", `what Enter does after ${reason}`);
      await accessible(page, "a reason in the making");
      await page.keyboard.press("Enter");
      const r = await run;
      equal([r.code, exists(`reason-${i}.txt`), r.err.includes(reason.trim())], [126, false, true], reason);
    }
    const run = sbx("run", "-c", "echo keys > offered.txt");
    await settles(page, "offered.txt");
    await page.keyboard.press("a");
    await page.keyboard.press("Enter");
    await page.getByText("“a” is not on offer here; nothing is decided.").waitFor();
    await page.keyboard.type("s");
    await page.keyboard.press("Enter");
    equal((await run).code, 0, "s, for this session");
  },

  // R-UX-09: random keys and pauses, none of which is a yes wherever they begin to count. KEYSTROKES is how many sequences.
  async "random keys approve nothing"(browser) {
    const page = await open(browser);
    const pick = (list) => list[Math.floor(Math.random() * list.length)];
    const starts = ["2 ", "1. ", "y ", "yes ", "s ", "11", "a ", "N ", "v ", "q ", "é", "日本 ", "12345 ", "$(", "!y "];
    const texts = ["touch owned zz", "echo 1 2 3 zz", "please make one only zz", "y y y y y y zz"];
    let denied = 0;
    for (let i = 0; i < Number(process.env.KEYSTROKES || 12); i++) {
      const name = `random-${i}.txt`, run = sbx("run", "-c", `echo random > ${name}`);
      if (Math.random() < 0.7) await waits(page, name);
      await page.waitForTimeout(Math.random() * 900);
      const typed = [];
      for (let k = 0; k < 1 + Math.random() * 6; k++) {
        const key = pick(["text", "text", "text", "Enter", "Enter", "Escape", "PageDown", "Home", "Shift", "v"]);
        typed.push(key === "text" ? pick(starts) + pick(texts) : key);
        if (key === "text") await page.keyboard.type(typed.at(-1), { delay: Math.random() * 30 });
        else await page.keyboard.press(key);
        await page.waitForTimeout(Math.random() * 400);
      }
      await page.waitForTimeout(1000);
      for (const q of JSON.parse((await sbx("pending", "--json")).out).approvals ?? []) await sbx("approve", q.id, "--deny");
      const { code } = await run;
      ok(code !== 0 && !exists(name), `${JSON.stringify(typed)} approved`);
      denied++;
      await quiet(page);
    }
    console.log(`measured\t${denied} sequences of random keys approved nothing`);
  },

  // R-UX-08: p adds the preset that shows a program, and the command is judged again; where that fails the question stays.
  async "one key adds a preset"(browser) {
    const page = await open(browser);
    const run = sbx("run", "-c", "pnpm test"), config = process.env.CONFIG, dir = path.dirname(config);
    await settles(page, "pnpm test");
    await card(page).getByRole("button", { name: "Add preset node: pnpm is not visible inside" }).waitFor();
    await accessible(page, "a question that offers a preset");
    const press = async () => { await page.keyboard.type("p"); await page.keyboard.press("Enter"); };
    fs.chmodSync(dir, 0o777);
    await press();
    await page.getByText("can be written by others").first().waitFor();
    fs.chmodSync(dir, 0o700);
    ok(!fs.readFileSync(config, "utf8").includes("presets"), "the file was changed although that failed");
    await settles(page, "pnpm test");
    await press();
    const r = await run;
    equal([r.code, r.out], [0, "shown\n"], "the command with its preset");
    await page.getByText("presets added: node; the request is judged again.").waitFor();
    ok(fs.readFileSync(config, "utf8").includes('[presets]\nuse = ["node"]\n'), "the file has no preset");
    const other = sbx("run", "-c", "echo keys > other.txt");
    await settles(page, "other.txt");
    await press();
    await page.getByText("“p” is not on offer here; nothing is decided.").waitFor();
    await page.keyboard.type("n");
    await page.keyboard.press("Enter");
    equal((await other).code, 126, "no");
  },
});
process.exit(failed ? 1 : 0);
