// A question that nobody answers, while it is looked at.
import { sbx, open, equal, scenarios } from "./lib.mjs";

const failed = await scenarios({
  async "it times out while it is shown"(browser) {
    const page = await open(browser);
    const run = sbx("run", "-c", "echo late > late.txt");
    await page.locator("article.card").getByText("late.txt").first().waitFor();
    equal((await run).code, 126, "exit status");
    await page.getByText("Nothing waits for an answer.").waitFor();
    await page.getByText(/Timed out/).waitFor();
  },
});
process.exit(failed ? 1 : 0);
