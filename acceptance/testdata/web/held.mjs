// Held change sets in the web approver: what a formatter wrote is looked at, landed in part, and dropped.
import fs from "node:fs";
import { sbx, open, press, until, equal, ok, accessible, scenarios } from "./lib.mjs";

const read = (f) => fs.readFileSync(f, "utf8");
const list = (page) => page.getByRole("link", { name: "Changes" }).click();
const nothing = (page) => page.getByText("Nothing is held.").waitFor();

/** hold holds what a line writes. */
async function hold(line) {
  const run = sbx("run", "--hold", "--json", "-c", line);
  const [q] = await until("it asks", async () => {
    const { approvals } = JSON.parse((await sbx("pending", "--json")).out);
    return approvals.length ? approvals : false;
  });
  await sbx("approve", q.id, "--allow");
  await sbx("approve", q.id, "--allow", "--confirm");
  const r = await run;
  const id = JSON.parse(r.out).changes?.held_id;
  ok(r.code === 0 && id, r.out + r.err);
  return id;
}

/** words types the two words of a second yes. */
async function words(page) {
  await page.getByLabel("The two words").fill(await page.locator(".again .code").textContent());
  await press(page, "Allow");
}

const hostile = "<img src=x onerror=window.bad=1>";

const failed = await scenarios({
  async "two files land and the rest is dropped"(browser) {
    const page = await open(browser, { viewport: { width: 1600, height: 900 } });
    fs.mkdirSync("src", { recursive: true });
    for (const name of ["a", "b", "c"]) fs.writeFileSync(`src/${name}.js`, `let ${name}  = 1\nexport { ${name} }\n`);
    await list(page);
    await nothing(page);
    const id = await hold(`sed -i 's/  = 1/ = 1;/' src/*.js; echo '${hostile}' > 'src/${hostile}'; echo '</pre><script>window.bad = 1</script>' > src/new.html; printf x > "src/$(printf '\\033[2J')"`);
    ok(read("src/a.js").includes("  = 1"), "it landed by itself");
    await page.getByText("3 modified").waitFor(); // the event brought it
    await accessible(page, "the held change sets");
    await page.getByRole("button", { name: /sed -i/ }).click();
    await page.getByText("What this command wrote").waitFor();
    equal(await page.locator("ul.files > li").count(), 6, "files");
    ok((await page.getByRole("region", { name: "Difference of src/a.js" }).getAttribute("class")).includes("side"), "not side by side");
    equal(await page.getByRole("region", { name: "Difference of src/a.js" }).locator(".add").allTextContents(), ["let a = 1;"], "what comes");
    await page.getByText("modified · +1 −1").first().waitFor();
    await accessible(page, "a held change set");
    await page.getByLabel("src/a.js", { exact: true }).check();
    await page.getByLabel(`src/${hostile}`, { exact: true }).check();
    await page.getByLabel("src/\\x1b[2J", { exact: true }).check();
    await press(page, "Land 3 files");
    await page.getByText("Land what the command wrote?").waitFor();
    await page.getByRole("region", { name: "Difference of src/a.js" }).waitFor();
    await until("the question has its three files", async () => await page.locator("ul.files > li").count() === 3);
    await accessible(page, "the question of a landing");
    await press(page, "Allow");
    await page.getByText("Landed.").waitFor();
    equal(read("src/a.js"), "let a = 1;\nexport { a }\n", "the first file");
    equal(read("src/\x1b[2J"), "x", "the file with a name that can't be shown");
    equal([read(`src/${hostile}`), read("src/b.js").split("\n")[0], fs.existsSync("src/new.html")], [hostile + "\n", "let b  = 1", false], "the others");
    await until("the rest is shown", async () => await page.locator("ul.files > li").count() === 3);
    await page.getByLabel("src/c.js", { exact: true }).check();
    await press(page, "Drop 1 file");
    await page.getByText("Drop a part of").waitFor();
    await press(page, "Allow");
    await until("the other two are shown", async () => await page.locator("ul.files > li").count() === 2);
    equal(read("src/c.js").split("\n")[0], "let c  = 1", "what was dropped");
    await press(page, "Drop all");
    await page.getByText("Drop what the command wrote?").waitFor();
    await press(page, "Allow");
    await nothing(page);
    ok((await sbx("changes", "show", id)).code !== 0, "it is still held");
    equal([read("src/b.js").split("\n")[0], fs.existsSync("src/new.html")], ["let b  = 1", false], "what was dropped");
    equal(await page.evaluate(() => window.bad), undefined, "a text of the command ran");
    equal(page.problems, [], "the browser's complaints");
  },

  async "on a narrow screen"(browser) {
    const page = await open(browser, { viewport: { width: 320, height: 640 } });
    const long = "a-long-name-".repeat(12);
    await hold(`mkdir -p deep/${long}; echo one > deep/${long}/file; echo two > ${long}`);
    await list(page);
    await accessible(page, "the held change sets at 320 px");
    await page.getByRole("button", { name: /mkdir/ }).click();
    await page.getByText("What this command wrote").waitFor();
    await accessible(page, "a held change set at 320 px");
    await press(page, "Land all");
    await page.getByText("Land what the command wrote?").waitFor();
    await accessible(page, "the question of a landing at 320 px");
    await press(page, "Deny");
    await page.getByText("What this command wrote").waitFor();
    ok(!fs.existsSync(long), "it landed after a no");
    await press(page, "Drop all");
    await press(page, "Allow");
    await nothing(page);
  },

  async "a protected name needs the two words"(browser) {
    const page = await open(browser);
    await hold("echo 'use nix' > .envrc");
    await list(page);
    await page.getByRole("button", { name: /use nix/ }).click();
    await press(page, "Land all");
    await page.getByText("PROTECTED", { exact: true }).waitFor();
    await press(page, "Allow");
    await page.getByText("It reaches something protected.").waitFor();
    ok(!fs.existsSync(".envrc"), "one yes was enough");
    await words(page);
    await page.getByText("Landed.").waitFor();
    equal(read(".envrc"), "use nix\n", "the file");
    fs.rmSync(".envrc");
    await nothing(page);
  },
});
process.exit(failed ? 1 : 0);
