import { openBrowser, openPage } from "../../../dashboard/browser.test-support.ts";

/** The rows of a tree that are in sight, and the frame after them. */
const watch = `
  const seen = new MutationObserver(() => {
    if (document.querySelectorAll("[role=treegrid] [role=row] [role=gridcell]").length < 50) return;
    seen.disconnect();
    requestAnimationFrame(() => setTimeout(() => { window.paintedAt = performance.now(); }));
  });
  seen.observe(document, { childList: true, subtree: true });
`;

/** Milliseconds from asking for the page to its first paint, in a browser, several times. */
export async function paintPage(link: string, path: string): Promise<readonly number[]> {
  await using opened = await openBrowser();
  const { context, faults, page } = await openPage(opened.browser, link);
  await page.getByText("Workers").first().waitFor();
  await page.addInitScript(watch);
  const painted: number[] = [];
  for (let time = 0; time < 5; time += 1) {
    await page.goto(`${new URL(link).origin}${path}`);
    painted.push(
      await page.evaluate(`new Promise((resolve) => {
        const look = () => window.paintedAt === undefined ? setTimeout(look, 20) : resolve(window.paintedAt);
        look();
      })`),
    );
  }
  await context.close();
  if (faults.length > 0) throw new Error(faults.join("\n"));
  return painted;
}
