// A question that is answered at the address that sbx web printed.
import { sbx, open, press, equal, scenarios } from "./lib.mjs";

const failed = await scenarios({
  async "answer from the browser"(browser) {
    const page = await open(browser, {}, process.env.ADDRESS);
    const run = sbx("run", "-c", "echo one > one.txt");
    await page.locator("article.card").getByText("one.txt").first().waitFor();
    await press(page, "Allow");
    equal((await run).code, 0, "exit status");
  },
});
process.exit(failed ? 1 : 0);
