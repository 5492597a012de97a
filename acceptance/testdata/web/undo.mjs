// Undoing runs in the web approver.
import fs from "node:fs";
import { sbx, open, press, until, equal, ok, accessible, scenarios } from "./lib.mjs";

const read = (f) => fs.readFileSync(f, "utf8");
const row = (page, line) => page.getByRole("list", { name: "Runs that can be undone" }).getByRole("button", { name: line });

/** run runs a line that a person allows, with the words where it needs them. */
async function run(line, ...flags) {
  const running = sbx("run", "--json", ...flags, "-c", line);
  const [q] = await until("it asks", async () => {
    const { approvals } = JSON.parse((await sbx("pending", "--json")).out);
    return approvals.length ? approvals : false;
  });
  await sbx("approve", q.id, "--allow");
  await sbx("approve", q.id, "--allow", "--confirm");
  return JSON.parse((await running).out);
}

const failed = await scenarios({
  async "a run is looked at and undone"(browser) {
    const page = await open(browser, { viewport: { width: 390, height: 844 } });
    fs.writeFileSync("a.js", "let a  = 1\n");
    fs.writeFileSync("gone.js", "it was here\n");
    const r = await run("sed -i 's/  = 1/ = 2/' a.js; mv gone.js '<b>there</b>.js'");
    ok(r.changes?.undo, JSON.stringify(r));
    await page.getByRole("link", { name: "Changes" }).click();
    await accessible(page, "the runs that can be undone");
    await row(page, /sed -i/).click();
    await page.getByText("What undoing this command would do").waitFor();
    const file = page.getByRole("region", { name: "Difference of a.js" });
    await file.waitFor();
    equal(await file.locator(".add").allTextContents(), ["+ let a  = 1"], "what comes back");
    await accessible(page, "the undoing of a run");
    await press(page, "Undo");
    await page.getByText("Undo what the command wrote?").waitFor(); // it removes a file
    await press(page, "Allow");
    await page.getByText("Undone.").waitFor();
    equal([read("a.js"), read("gone.js"), fs.existsSync("<b>there</b>.js")], ["let a  = 1\n", "it was here\n", false], "the files");
    await page.getByText("Nothing to undo.").waitFor();
    equal(page.problems, [], "the browser's complaints");
  },

  async "what was changed since stays"(browser) {
    const page = await open(browser);
    fs.writeFileSync("b.js", "one\n");
    await run("sed -i s/one/two/ b.js");
    fs.writeFileSync("b.js", "a person's\n");
    await page.getByRole("link", { name: "Changes" }).click();
    await row(page, /two/).click();
    await page.getByText("Can't be undone now").waitFor();
    equal(await page.getByRole("button", { name: "Undo", exact: true }).count(), 0, "buttons");
    fs.writeFileSync("b.js", "two\n");
    await press(page, "Back");
    await row(page, /two/).click();
    await page.getByRole("button", { name: "Undo", exact: true }).waitFor();
    fs.writeFileSync("b.js", "a person's\n"); // behind the page's back
    await press(page, "Undo");
    await until("it says why", async () => /changed since|what it was|has changed/.test(await page.locator("#said").textContent()));
    equal(read("b.js"), "a person's\n", "the file");
  },

  async "a protected name asks, with the two words"(browser) {
    const page = await open(browser);
    const held = await run("echo 'use nix' > .envrc", "--hold");
    const landing = sbx("changes", "land", held.changes.held_id);
    const [q] = await until("the landing asks", async () => {
      const { approvals } = JSON.parse((await sbx("pending", "--json")).out);
      return approvals.length ? approvals : false;
    });
    await sbx("approve", q.id, "--allow");
    await sbx("approve", q.id, "--allow", "--confirm");
    await landing;
    equal(read(".envrc"), "use nix\n", "what landed");
    await page.getByRole("link", { name: "Changes" }).click();
    await row(page, /use nix/).click();
    await press(page, "Undo");
    await page.getByText("Undo what the command wrote?").waitFor();
    await page.getByText("PROTECTED", { exact: true }).waitFor();
    await press(page, "Deny");
    await page.getByText("What undoing this command would do").waitFor();
    equal(read(".envrc"), "use nix\n", "after a no");
    await press(page, "Undo");
    await page.getByText("PROTECTED", { exact: true }).waitFor();
    await press(page, "Allow");
    await page.getByLabel("The two words").fill(await page.locator(".again .code").textContent());
    equal(read(".envrc"), "use nix\n", "after one yes");
    await press(page, "Allow");
    await page.getByText("Undone.").waitFor();
    ok(!fs.existsSync(".envrc"), "it is still there");
  },
});
process.exit(failed ? 1 : 0);
