import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page, Request, Response } from "playwright-core";
import { describe, expect, it } from "vitest";
import { AccessTokens } from "../src/control/access/access-tokens.ts";
import { MandateClient } from "../src/surfaces/client/mandate-client.ts";
import { openEngine, testProfile } from "../src/testing/engine-fixture.ts";
import { testFolder } from "../src/testing/test-folder.test-support.ts";
import { until } from "../src/testing/until.ts";
import { findBarriers, openPage, serve, twoFrames } from "./browser.test-support.ts";
import { type ServerProcess, startServerProcess } from "./serve-process.test-support.ts";
import { testBrowser } from "./test-browser.test-support.ts";

const opened = testBrowser();

const profiles = [testProfile("worker", { tools: [] })];
const model = () => ({ text: "done" });

/** How many requests for the stream of events the page makes, and how many are open. */
async function countStreams(page: Page): Promise<void> {
  await page.addInitScript(`
    window.streams = { asked: 0, open: 0, most: 0 };
    const send = window.fetch;
    window.fetch = async (...given) => {
      const isStream = /\\/events(\\?|$)/.test(String(given[0])) &&
        String(new Headers(given[1]?.headers).get("accept")).includes("event-stream");
      if (!isStream) return send(...given);
      streams.asked += 1;
      streams.open += 1;
      streams.most = Math.max(streams.most, streams.open);
      given[1].signal?.addEventListener("abort", () => { streams.open -= 1; }, { once: true });
      return send(...given);
    };
  `);
}

const streams = (page: Page): Promise<{ asked: number; open: number; most: number }> =>
  page.evaluate("streams");

async function startWork(server: ServerProcess, count: number, task: string): Promise<string[]> {
  const client = new MandateClient({ url: `http://127.0.0.1:${server.port}`, token: server.token });
  const ids: string[] = [];
  for (let number = 1; number <= count; number += 1) {
    const about = { task: `${task} ${number}`, profile: "worker", wait: 20_000 };
    ids.push((await client.startRun(about)).runId);
  }
  return ids;
}

describe("the connection", { timeout: 120_000 }, () => {
  it("outlives a server that is killed and started again, and misses no event", async () => {
    const home = join(testFolder(), "home");
    mkdirSync(home);
    await using first = await startServerProcess(home, opened.folder);
    const { page, context, faults } = await openPage(opened.browser, first.link);
    await page.getByRole("link", { name: "Runs", exact: true }).click();
    await page.getByText("No runs yet").waitFor();
    await startWork(first, 1, "Before");
    await page.getByText("Before 1").waitFor();
    // What somebody is about to say must not be lost by all this.
    await page.getByLabel("Task or command").fill("What I was about to say");
    await first.kill();
    await page.getByText("No connection to the server.").waitFor();

    await using second = await startServerProcess(home, opened.folder, first.port);
    const [missed = ""] = await startWork(second, 3, "Meanwhile");
    const list = page.getByRole("grid", { name: "Runs" });
    await list.getByText("Meanwhile 3").waitFor();
    await expect.poll(() => list.getByText("Done").count(), { timeout: 45_000 }).toBe(4);
    expect(await page.getByLabel("Task or command").inputValue()).toBe("What I was about to say");
    await startWork(second, 1, "Afterwards");
    await list.getByText("Afterwards 1").waitFor();
    await page.goto(`http://127.0.0.1:${second.port}/runs/${missed}`);
    const client = new MandateClient({
      url: `http://127.0.0.1:${second.port}`,
      token: second.token,
    });
    const { items } = await client.listRunEvents({ runId: missed, limit: 200 });
    await page.getByLabel("Every event").check();
    await page.getByText(`${items.length} of ${items.length}`, { exact: true }).waitFor();
    expect(faults).toEqual([]);
    await context.close();
    await second.kill();
  });

  it("that was lost for a while tells every event, each once", async () => {
    await using engine = await openEngine({ profiles, model });
    const { link, server } = await serve(engine, opened.files);
    const { page, context, faults } = await openPage(opened.browser, link("/system"));
    await page.goto(`${server.url}/inbox`);
    await page.getByText("Nothing to read").waitFor();
    await engine.run({ task: "While it was there", profile: "worker" });
    const notices = page.getByRole("grid", { name: "Notices" });
    await notices.getByText("Run succeeded: While it was there").waitFor();
    await context.setOffline(true);
    // A connection that stands is not cut by that: the server does it.
    await server.close(50);
    await page.getByText("No connection to the server.").waitFor();
    for (let number = 1; number <= 70; number += 1) {
      await engine.run({ task: `Number ${number}`, profile: "worker" });
    }
    const again = await serve(engine, opened.files, { port: server.port });
    await context.setOffline(false);
    const tab = await context.newPage();
    await tab.goto(again.link("/runs"));
    await tab.getByText("71 runs").waitFor();
    await tab.close();
    // More than one page of notices was missed.
    await expect
      .poll(() => page.getByText(/^\d+ new$/).innerText(), { timeout: 45_000 })
      .toBe("71 new");
    const runs = page.getByRole("grid", { name: "Runs" });
    await page.getByRole("link", { name: "Runs" }).click();
    await page.getByText("71 runs").waitFor();
    await runs.getByText("Number 70").waitFor();
    expect(faults).toEqual([]);
    await context.close();
    await again.server.close(100);
  });

  it("ends with its token, and the page says so", async () => {
    await using engine = await openEngine({ profiles, model });
    const { server } = await serve(engine, opened.files);
    const tokens = new AccessTokens(engine.store, join(engine.home, "tokens", "local"));
    const by = { id: "test", role: "admin" } as const;
    const { token } = await tokens.create({ name: "guest", role: "operator" }, by);
    const { code } = server.pages.createCode(token);
    const { page, context, faults } = await openPage(
      opened.browser,
      `${server.url}/runs#code=${code}`,
    );
    // From here on its time can be moved; until then it passes as ever.
    await page.clock.install();
    await page.getByText("No runs yet").waitFor();
    await tokens.revoke("guest", by);
    // Whoever does something is told at once, and the stream is cut by the server itself.
    await page.getByLabel("Task or command").fill("Too late");
    await page.getByRole("button", { name: "Start run" }).click();
    await page.getByText(/token is unknown, expired or revoked/).waitFor();
    await page.getByRole("heading", { name: "Sign in to Mandate" }).waitFor({ timeout: 40_000 });
    expect(await findBarriers(page)).toEqual([]);
    // It waits: a page that is signed out does not keep asking.
    await countRequests(page, 4000, 1);
    expect(await page.getByLabel("Task or command").isVisible()).toBe(false);
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });

  it("is one stream for each page, whatever it shows, and two tabs work", async () => {
    await using engine = await openEngine({ profiles, model });
    const { runId, delegationId } = await engine.run({ task: "Look", profile: "worker" });
    const { link, server } = await serve(engine, opened.files);
    const { page, context, faults } = await openPage(opened.browser, link("/runs"));
    await countStreams(page);
    const places = [
      "/inbox",
      "/agents",
      `/sessions?session=${delegationId}`,
      "/costs",
      "/system",
      `/delegations/${delegationId}`,
    ];
    for (const address of places) {
      using traffic = watchTraffic(page);
      await page.goto(`${server.url}${address}`);
      await page.getByText("Live").waitFor();
      await traffic.settled();
      expect([address, await streams(page)]).toEqual([address, { asked: 1, open: 1, most: 1 }]);
    }
    // What is stored of a run is read as a stream as well, which ends when that is read.
    await page.goto(`${server.url}/runs/${runId}`);
    await page.getByText("run succeeded").first().waitFor();
    await expect.poll(async () => (await streams(page)).open, { timeout: 45_000 }).toBe(1);
    const tab = await context.newPage();
    await tab.goto(`${server.url}/inbox`);
    await page.goto(`${server.url}/inbox`);
    await engine.run({ task: "For both of them", profile: "worker" });
    for (const one of [page, tab]) {
      await one.getByText("Run succeeded: For both of them").waitFor();
    }
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });
});

/** Counts what the page asks for while so much of its own time passes. */
async function countRequests(page: Page, forMs: number, most: number): Promise<void> {
  using traffic = watchTraffic(page);
  for (let passed = 0; passed < forMs; passed += stepMs) {
    await page.clock.runFor(stepMs);
    await traffic.settled();
  }
  expect(traffic.asked).toBeLessThanOrEqual(most);
}

/** How far the page's time moves at once: what an answer leads to has to come between two steps. */
const stepMs = 200;

interface Traffic extends Disposable {
  readonly asked: number;
  /** Nothing is asked for that could be answered at once: streams stay open. */
  settled(): Promise<void>;
}

function watchTraffic(page: Page): Traffic {
  let asked = 0;
  const open = new Set<Request>();
  const begin = (request: Request): void => {
    asked += 1;
    if (!request.headers()["accept"]?.includes("event-stream")) open.add(request);
  };
  const end = (request: Request): void => void open.delete(request);
  // What the page before had asked for may end without a word.
  const forget = (): void => open.clear();
  page.on("framenavigated", forget);
  // A body that nobody reads does not end the request.
  const answered = (response: Response): void => end(response.request());
  page.on("response", answered);
  page.on("request", begin);
  page.on("requestfinished", end);
  page.on("requestfailed", end);
  return {
    get asked() {
      return asked;
    },
    async settled() {
      await page.evaluate(twoFrames);
      await until("every request is answered", () => open.size === 0);
    },
    [Symbol.dispose]() {
      page.off("framenavigated", forget);
      page.off("response", answered);
      page.off("request", begin);
      page.off("requestfinished", end);
      page.off("requestfailed", end);
    },
  };
}
