// The question at a layer's landing in the web approver.
import fs from "node:fs";
import { sbx, open, press, equal, ok, accessible, scenarios } from "./lib.mjs";

/** redraw has the page draw the card again, twice, which "Side by side" does. */
async function redraw(page) {
  for (let i = 0; i < 2; i++) await page.getByRole("button", { name: /^(Side by side|In one column)$/ }).click();
}

const failed = await scenarios({
  async "a landing asks with its files"(browser) {
    const page = await open(browser, { viewport: { width: 390, height: 844 } });
    const plant = `python3 -c "open('.rvmrc', 'w').write('use nix'); open('plain', 'w').write('x')"`;
    const run = sbx("run", "--json", "-c", plant);
    await page.getByText("Land what the command wrote?").waitFor();
    await page.getByText(/protected/).first().waitFor();
    await page.locator("ul.files .what").nth(1).waitFor();
    equal(await page.locator("ul.files .what").allTextContents(), [".rvmrc", "plain"], "the files");
    await accessible(page, "the question");
    ok(!fs.existsSync("plain"), "it landed unasked");
    await page.getByText("Let only some of the files land").click();
    await page.getByRole("checkbox", { name: ".rvmrc" }).check();
    await page.getByRole("button", { name: "Allow 1 of 2 files" }).waitFor();
    await accessible(page, "the picked files");
    await press(page, "Deny");
    const r = await run;
    equal([r.code, fs.existsSync(".rvmrc"), fs.existsSync("plain")], [126, false, false], "after a no");
    await page.getByRole("link", { name: "Changes" }).click();
    await page.getByRole("button", { name: /python3/ }).click();
    await page.getByText("What this command wrote").waitFor();
    await press(page, "Drop all");
    await press(page, "Allow");
    await page.getByText("Nothing is held.").waitFor();
  },

  async "a yes is for some of the files"(browser) {
    const page = await open(browser);
    const plant = `python3 -c "open('.rvmrc', 'w').write('use nix'); open('plain', 'w').write('x')"`;
    const run = sbx("run", "--json", "-c", plant);
    await page.getByText("Land what the command wrote?").waitFor();
    await page.getByText("Let only some of the files land").click();
    await redraw(page); // as when the whole text of a question comes later
    await page.getByRole("checkbox", { name: "plain" }).check();
    await press(page, "Allow 1 of 2 files");
    const words = await page.locator(".again .code").innerText();
    await page.getByLabel("The two words").fill(words);
    await redraw(page);
    await press(page, "Allow");
    const r = await run;
    equal([r.code, fs.existsSync(".rvmrc"), fs.existsSync("plain")], [0, false, true], "after a yes to one file");
    equal(JSON.parse(r.out).changes.landed, false, "the others");
    await page.getByRole("link", { name: "Changes" }).click();
    await page.getByRole("button", { name: /let only others of its paths land/ }).click();
    await page.getByText(".rvmrc").first().waitFor();
    await press(page, "Drop all");
    await press(page, "Allow");
    await page.getByText("Nothing is held.").waitFor();
    fs.rmSync("plain");
  },
});
process.exit(failed ? 1 : 0);
