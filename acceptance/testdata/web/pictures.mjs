// Makes the pictures of the web approver in docs/img. make pictures runs it.
import path from "node:path";
import fs from "node:fs";
import { sbx, agent, open, until, scenarios } from "./lib.mjs";

const to = process.env.PICTURES;
const shot = async (page, name) => {
  await page.waitForTimeout(700);
  await page.screenshot({ path: path.join(to, `web-${name}.png`) });
};

const failed = await scenarios({
  async "pictures"(browser) {
    fs.writeFileSync("server.go", "package main\n\nfunc main() {\n\tlisten(\"127.0.0.1:8080\")\n}\n");
    const a = agent({ AGENT: "coder", LABEL: "add a health check", STAY: "1" },
      { path: "/v1/exec", body: { session: "$SESSION", command: "npm install express && npm run build 2>&1 | tee build.log", description: "install and build", keep: true } },
      { path: "/v1/exec", body: { session: "$SESSION", command: "rm -rf node_modules dist", description: "clean up", keep: true } });
    await until("they wait", () => a.lines() === 3);
    const edit = sbx("file", "edit", "server.go", "--find", "127.0.0.1:8080", "--replace", "0.0.0.0:8080");
    const page = await open(browser, { viewport: { width: 1280, height: 860 }, deviceScaleFactor: 1 });
    await page.getByRole("heading", { name: "3 questions" }).waitFor();
    await page.locator("ol.list button", { hasText: "npm install" }).click();
    await page.getByText("install and build").waitFor();
    await shot(page, "question");
    await page.locator("ol.list button", { hasText: "rm -rf" }).click();
    await shot(page, "delete");
    await page.locator("ol.list button", { hasText: "server.go" }).click();
    await page.getByText("What changes").waitFor();
    await shot(page, "diff");
    await page.getByRole("link", { name: "Host" }).click();
    await page.getByRole("heading", { level: 1, name: "Host" }).waitFor();
    await shot(page, "host");
    await page.context().close();
    const phone = await open(browser, { viewport: { width: 390, height: 844 }, deviceScaleFactor: 1, colorScheme: "dark" });
    await phone.getByRole("heading", { name: "3 questions" }).waitFor();
    await shot(phone, "phone");
    a.end();
    for (const q of JSON.parse((await sbx("pending", "--json")).out).approvals) await sbx("approve", q.id, "--deny");
    await edit;
    fs.mkdirSync("src", { recursive: true });
    for (const name of ["app", "list", "store"]) fs.writeFileSync(`src/${name}.js`, `export const ${name}  = { open : true }\nexport default ${name}\n`);
    const format = "sed -i -e 's/  = { open : true }/ = { open: true };/' -e '$s/$/;/' src/*.js";
    fs.writeFileSync("package.json", JSON.stringify({ scripts: { format } }));
    const run = sbx("run", "--hold", "--json", "-c", "npm run format");
    const q = await until("it asks", async () => JSON.parse((await sbx("pending", "--json")).out).approvals[0]);
    await sbx("approve", q.id, "--allow");
    await run;
    const held = await open(browser, { viewport: { width: 1280, height: 860 }, deviceScaleFactor: 1 });
    await held.getByRole("link", { name: "Changes" }).click();
    await held.getByRole("button", { name: /npm run format/ }).click();
    await held.getByText("What this command wrote").waitFor();
    for (const name of ["app", "list"]) await held.getByLabel(`src/${name}.js`, { exact: true }).check();
    await shot(held, "held");
  },
});
process.exit(failed ? 1 : 0);
