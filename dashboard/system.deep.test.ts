import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { AccessTokens, installationToken } from "../src/control/access/access-tokens.ts";
import { serveRuntime } from "../src/surfaces/http/serve-runtime.ts";
import { openEngine } from "../src/testing/engine-fixture.ts";
import { openProcessFleet } from "../src/testing/process-fleet.test-support.ts";
import { testFolder } from "../src/testing/test-folder.test-support.ts";
import { findBarriers, openPage, overflow, serve, shots } from "./browser.test-support.ts";
import { testBrowser } from "./test-browser.test-support.ts";

const opened = testBrowser();

const soon = { timeout: 45_000 };

/** The cells of a table's rows, without its head. */
async function rowsOf(page: Page, table: string): Promise<readonly (readonly string[])[]> {
  const rows = await page.getByRole("table", { name: table }).locator("tbody tr").all();
  return Promise.all(rows.map((row) => row.locator("td").allTextContents()));
}

async function look(page: Page, name: string): Promise<void> {
  if (shots) {
    mkdirSync(shots, { recursive: true });
    await page.screenshot({ path: join(shots, `fleet-${name}.png`) });
  }
  expect([name, await findBarriers(page)]).toEqual([name, []]);
  expect([name, await overflow(page)]).toEqual([name, 0]);
}

describe("the System page", { timeout: 180_000 }, () => {
  it("shows who takes work and what waits, as it changes, and how to start a worker", async () => {
    await using fleet = await openProcessFleet({ workers: 0, atOnce: 3 });
    const home = testFolder();
    const file = join(home, "tokens");
    const runtime = fleet.client;
    const server = await serveRuntime({
      host: {
        ...{ runtime, tokens: new AccessTokens(runtime.store, file), startedAt: Date.now() },
        workspaces: [home],
      },
      port: 0,
      staticFiles: opened.files,
      log: () => undefined,
    });
    const { code } = server.pages.createCode(installationToken(file));
    const address = `${server.url}/system#code=${code}`;
    const { page, context, faults } = await openPage(opened.browser, address);
    await page.getByText("No worker takes work.").waitFor();
    await page.getByText("mandate worker --concurrency 10").waitFor();
    const { runId } = await runtime.engine.startRun({
      task: "fan 2 wait 60000",
      profile: "general",
    });
    await expect
      .poll(() => rowsOf(page, "Queues"), soon)
      .toEqual([["default", expect.stringMatching(/^1for \d+s?/), "0", "0", "no limit"]]);
    const self = runtime.store.ownership.worker;
    expect((await rowsOf(page, "Workers")).map(([who, state]) => [who, state])).toEqual([
      [`${self}this server`, "serves"],
    ]);
    await look(page, "nobody");

    // Nobody reloads anything.
    const worker = await fleet.add();
    await expect
      .poll(async () => (await rowsOf(page, "Workers")).map((row) => row.slice(1)), soon)
      .toEqual([
        ["serves", expect.stringContaining(`process ${process.pid}`), expect.any(String), "–"],
        ["at work", expect.stringContaining(`process ${worker.pid}`), expect.any(String), "3"],
      ]);
    await expect
      .poll(() => rowsOf(page, "Queues"), soon)
      .toEqual([["default", "0", "2", "1", "no limit"]]);
    expect(await page.getByText("No worker takes work.").count()).toBe(0);
    await look(page, "at-work");
    const metrics = await fetch(`${server.url}/metrics`, {
      headers: { authorization: `Bearer ${installationToken(file)}` },
    });
    const figures = await metrics.text();
    expect(figures).toContain('mandate_queue_delegations{queue="default",state="working"} 2');
    expect(figures).toContain('mandate_workers{state="alive",takes_work="yes"} 1');

    worker.kill("SIGKILL");
    await page.getByText("No worker takes work.").waitFor(soon);
    const [, gone] = await rowsOf(page, "Workers");
    expect(gone?.[1]).toMatch(/^gone ?for \d+s?/);
    await look(page, "gone");
    await page.setViewportSize({ width: 360, height: 760 });
    await page.emulateMedia({ colorScheme: "dark" });
    await look(page, "gone-narrow");
    await runtime.engine.cancel(runId, "the end");
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });

  it("says where there are no queues what they would be for", async () => {
    await using engine = await openEngine({ model: () => ({ text: "done" }) });
    const { link, server } = await serve(engine, opened.files);
    const { page, context, faults } = await openPage(opened.browser, link("/system"));
    await page.getByText("the process that starts a run works on it").waitFor();
    const [row] = await rowsOf(page, "Workers");
    expect(row?.[0]).toBe(`${engine.store.ownership.worker}this server`);
    expect(row?.[1]).toBe("at work");
    expect(row?.[3]).toMatch(/^\d+:\d\d$/);
    await look(page, "local");
    await page.setViewportSize({ width: 360, height: 760 });
    // Whole words: one line is not higher than two.
    const self = await page.getByText("this server", { exact: true }).boundingBox();
    expect(self?.height).toBeLessThan(24);
    await look(page, "local-narrow");
    await page.setViewportSize({ width: 1360, height: 800 });
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });
});
