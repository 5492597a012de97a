// Answers in the web approver, as a person would, what docs/img/day-loop.py asks, and draws the questions.
// usage: node day.mjs RECORD PICTURE
import fs from "node:fs";
import { launch, open, sheet } from "../../acceptance/testdata/web/lib.mjs";

const [record, picture] = process.argv.slice(2);
const written = () => (fs.existsSync(record) ? fs.readFileSync(record, "utf8") : "").split("\n").filter(Boolean);
const browser = await launch();
const page = await open(browser, { viewport: { width: 1100, height: 900 }, deviceScaleFactor: 1 });
const card = page.locator("article.card[data-id]").first();
const shots = new Map();
while (written().at(-1) !== "done") {
  await page.waitForTimeout(300);
  if (!(await card.isVisible())) continue;
  await page.waitForTimeout(1000);
  const id = await card.getAttribute("data-id", { timeout: 1000 }).catch(() => null);
  if (!id) continue;
  const again = shots.has(id);
  if (!again) shots.set(id, [`Before command ${written().length + 1}`, await card.screenshot()]);
  // What is dangerous, or asks for a second yes, is denied.
  const names = again || (await card.textContent()).includes("DANGEROUS") ? ["Deny"] : [/^Trust, and run/, "Allow"];
  for (const name of names) {
    const button = card.getByRole("button", { name, exact: true });
    if (!(await button.count())) continue;
    await button.click({ timeout: 5000 }).catch(() => null);
    break;
  }
  await page.waitForTimeout(700);
}
await sheet(browser, picture, 700, 2, [...shots.values()]);
await browser.close();
console.log(`in the browser: ${shots.size} questions for ${written().length - 1} commands`);
