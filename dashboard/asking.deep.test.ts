import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import type { Script } from "../src/models/scripted/scripted-model.ts";
import { ofType, openEngine, type TestEngine, testProfile } from "../src/testing/engine-fixture.ts";
import { until } from "../src/testing/until.ts";
import {
  findBarriers,
  openPage,
  overflow,
  serve,
  shots,
  twoFrames,
} from "./browser.test-support.ts";
import { testBrowser } from "./test-browser.test-support.ts";

const opened = testBrowser();

const profiles = [
  testProfile("harbour-lead", { tools: ["ask_user"] }),
  testProfile("planner", {
    capabilities: ["orchestrator", "primary"],
    tools: ["submit_plan"],
  }),
  testProfile("keeper-of-the-harbour-lights", { tools: [] }),
];

const plan = {
  approval: true,
  goal: "A pier that holds",
  steps: [{ id: "a", title: "Look", description: "Look", profile: "keeper-of-the-harbour-lights" }],
};

/** Who leads asks; the planner has a plan approved; the keeper speaks in many lines, or hangs. */
const model: Script = ({ caller, messages }) => {
  const last = messages.at(-1);
  if (caller.task.includes("hang")) return { fault: "hang" };
  if (caller.task.includes("break")) return { text: "x", served: "other/model" };
  if (caller.profile === "harbour-lead" && last?.role === "user") {
    return { calls: [{ tool: "ask_user", input: { message: "Which pier first?" } }] };
  }
  if (caller.profile === "planner" && last?.role === "user") {
    return { calls: [{ tool: "submit_plan", input: plan }] };
  }
  if (caller.profile !== "keeper-of-the-harbour-lights") return `Settled: ${last?.text ?? ""}`;
  return `${Array.from({ length: 20 }, (_, line) => `Light ${line} burns.`).join("\n")}\nThe end of: ${caller.task}`;
};

const open = (): Promise<TestEngine> => openEngine({ profiles, model });

/** Wide and narrow, light and dark: without barriers, and no wider than its window. */
async function look(page: Page, name: string): Promise<void> {
  if (shots) mkdirSync(shots, { recursive: true });
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    for (const [width, height] of [
      [1360, 800],
      [360, 760],
    ] as const) {
      await page.setViewportSize({ width, height });
      const which = `${name}-${colorScheme}-${width}`;
      if (shots) await page.screenshot({ path: join(shots, `${which}.png`) });
      expect([which, await findBarriers(page)]).toEqual([which, []]);
      expect([which, await overflow(page)]).toEqual([which, 0]);
    }
  }
  await page.setViewportSize({ width: 1360, height: 800 });
  await page.emulateMedia({ colorScheme: "light" });
}

describe("a question that waits", { timeout: 120_000 }, () => {
  it("is seen in every list, and answered where the run is read", async () => {
    await using engine = await open();
    const { link, server } = await serve(engine, opened.files);
    const { page, context, faults } = await openPage(opened.browser, link("/runs"));
    const first = await engine.start({ task: "Repair the pier", profile: "harbour-lead" });
    await page.getByRole("grid", { name: "Runs" }).getByText("Asks you").waitFor();
    await look(page, "asking-runs");

    await page.getByRole("link", { name: "Repair the pier" }).click();
    const waiting = page.getByRole("region", { name: "Waiting for you" });
    const question = waiting.getByRole("article", { name: "harbour-lead asks" });
    await question.getByText("Which pier first?").waitFor();
    await page.locator("main header").first().getByText("Asks you").waitFor();
    await look(page, "asking-run");
    // The past is looked at, not answered.
    await page.getByRole("slider", { name: "Moment of the run" }).press("Home");
    await waiting.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Back to now" }).click();
    await question.getByLabel("Your answer").fill("The western one");
    await question.getByLabel("Your answer").press("Enter");
    expect((await first.result).result).toContain("The western one");
    await waiting.waitFor({ state: "detached" });

    const second = await engine.start({ task: "Paint the pier", profile: "harbour-lead" });
    await page.getByRole("link", { name: "Sessions" }).click();
    const entry = page.getByRole("link", { name: /Asks you Paint the pier/ });
    await entry.click();
    const log = page.getByRole("log");
    await log.getByText("Waits for your answer.").waitFor();
    expect(await log.getByText("No answer.").count()).toBe(0);
    await look(page, "asking-session");
    await page.goto(`${server.url}/delegations/${second.delegationId}?tab=transcript`);
    await page.getByText("Waits for your answer.").waitFor();
    await page.goto(`${server.url}/sessions?session=${second.delegationId}`);
    await waiting.getByLabel("Your answer").fill("Blue");
    await waiting.getByRole("button", { name: "Answer" }).click();
    await log.getByText("Answer: Blue").waitFor();
    await waiting.waitFor({ state: "detached" });
    await expect.poll(() => page.getByText("Asks you").count(), { timeout: 45_000 }).toBe(0);
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });

  it("is a yes or a no where a plan is to begin", async () => {
    await using engine = await open();
    const { link, server } = await serve(engine, opened.files);
    const { page, context, faults } = await openPage(opened.browser, link("/inbox"));
    const { result, runId } = await engine.start({ task: "Build", profile: "planner" });
    const approval = page.getByRole("article", { name: "planner asks for approval" });
    await approval.getByText("Rejected at the deadline without an answer.").waitFor();
    expect(await approval.getByLabel("Your answer").count()).toBe(0);
    await look(page, "plan-approval");
    await approval.getByRole("button", { name: "Approve" }).click();
    expect((await result).status).toBe("completed");
    expect(ofType(await engine.events(runId), "run.planned")).toHaveLength(1);
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });
});

describe("what was said", { timeout: 120_000 }, () => {
  it("stays in sight to its end as it grows, unless somebody has scrolled away", async () => {
    await using engine = await open();
    const task = "Light the lamps";
    const { delegationId } = await engine.run({ task, profile: "keeper-of-the-harbour-lights" });
    const { link, server } = await serve(engine, opened.files);
    const address = link(`/sessions?session=${delegationId}`);
    const { page, context, faults } = await openPage(opened.browser, address);
    const log = page.getByRole("log");
    const place = (what: string): Promise<number> =>
      page.evaluate(
        `(() => { const log = document.querySelector("[role=log]"); return ${what}; })()`,
      );
    const left = () => place("Math.round(log.scrollHeight - log.scrollTop - log.clientHeight)");
    await log.getByText(`The end of: ${task}`).waitFor();
    await expect.poll(left, { timeout: 45_000 }).toBe(0);
    for (const message of ["And the buoys?", "And the bells?"]) {
      await page.getByLabel("Message").fill(message);
      await page.getByLabel("Message").press("Enter");
      await log.getByText(`The end of: ${message}`).waitFor();
      await expect.poll(left, { timeout: 45_000 }).toBe(0);
    }
    // Also when what is around it changes.
    await page.setViewportSize({ width: 1360, height: 500 });
    await expect.poll(left, { timeout: 45_000 }).toBe(0);
    await log.hover();
    await page.mouse.wheel(0, -400);
    await expect.poll(left, { timeout: 45_000 }).toBeGreaterThan(100);
    const where = await place("log.scrollTop");
    const height = await place("log.clientHeight");
    await page.setViewportSize({ width: 1360, height: 480 });
    await until("it is smaller", async () => (await place("log.clientHeight")) < height);
    await page.evaluate(twoFrames);
    expect(await left()).toBeGreaterThan(100);
    expect(Math.abs((await place("log.scrollTop")) - where)).toBeLessThan(100);
    // The name of who speaks has a line of its own.
    const list = page.getByRole("navigation", { name: "Sessions" });
    // The list is drawn anew while news arrives, and what is replaced has no box.
    const boxOf = (text: string) =>
      until(`a box of ${text}`, () => list.getByText(text).boundingBox());
    const name = await boxOf("keeper-of-the-harbour-lights");
    expect(name.width).toBeGreaterThan(100);
    expect((await boxOf("tokens")).y).toBeGreaterThan(name.y);
    await page.setViewportSize({ width: 1360, height: 800 });
    await look(page, "session-end");
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });

  it("of what was stopped or broke says which, with no mark of success", async () => {
    await using engine = await open();
    const stopped = await engine.start({ task: "hang on", profile: "harbour-lead" });
    await engine.engine.cancel(stopped.runId, "enough");
    await stopped.result;
    await engine.run({ task: "break down", profile: "harbour-lead" });
    const { link, server } = await serve(engine, opened.files);
    const { page, context, faults } = await openPage(opened.browser, link("/inbox"));
    const list = page.getByRole("grid", { name: "Notices" });
    await list.getByText("Run was cancelled: hang on").waitFor();
    for (const title of ["Run was cancelled: hang on", "Run failed: break down"]) {
      const row = list.getByRole("row").filter({ hasText: title });
      await row.getByTitle("Failed or cancelled").waitFor();
    }
    await look(page, "ends-inbox");
    await page.goto(`${server.url}/runs/${stopped.runId}`);
    const timeline = page.getByRole("region", { name: "Timeline" });
    await timeline.getByText("run cancelled: ").waitFor();
    expect(
      await page
        .locator("main")
        .getByText(/\bfailed\b/i)
        .count(),
    ).toBe(0);
    await look(page, "cancelled-run");
    for (const [path, title] of [
      ["/runs/nope", "There is no such run"],
      ["/delegations/nope", "There is no such delegation"],
    ] as const) {
      await page.goto(`${server.url}${path}`);
      await page.getByRole("heading", { name: title }).waitFor();
    }
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });
});
