import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { defaultConfig } from "../src/control/config.ts";
import type { Script } from "../src/models/scripted/scripted-model.ts";
import { openEngine, testProfile } from "../src/testing/engine-fixture.ts";
import { defineTool } from "../src/tools/tool.ts";
import { openBrowser, openPage, serve, type TestBrowser } from "./browser.test-support.ts";

/**
 * The bars of the page, measured in the browser. The machine that runs this runs other tests at the
 * same time, and the server and its agents besides: a limit here is at most three times its bar, and
 * the figures are printed, so that a reader sees how far from it they are.
 */
let opened: TestBrowser;
beforeAll(async () => {
  opened = await openBrowser();
}, 120_000);
afterAll(() => opened?.[Symbol.asyncDispose]());

const limits = { ...defaultConfig.limits, runTokens: 1e9, maxChildren: 100_000 };
const { delegation } = defaultConfig.agents;
const tokenBudget = { default: 1e8, max: 1e9 };

const profiles = { directory: "/nowhere" };

function configOf(maxConcurrent: number) {
  return {
    limits,
    agents: { delegation: { ...delegation, maxConcurrent, tokenBudget, profiles } },
  };
}

const wide = 40;
const deep = 25;
const everybody = 1 + wide + wide * deep;

/** A lead with forty foremen, each of whom has twenty-five workers: 1,041 delegations. */
const crowd: Script = ({ caller, messages }) => {
  if (messages.at(-1)?.role !== "user") return { text: "All of them reported." };
  const hand = (profile: string, count: number) => ({
    calls: Array.from({ length: count }, (_, index) => ({
      tool: "delegate_task",
      input: { profile, task: `Look at berth ${index + 1} of pier ${caller.task.slice(-2)}` },
    })),
  });
  if (caller.profile === "lead") return hand("foreman", wide);
  return caller.profile === "foreman" ? hand("worker", deep) : { text: "The berth is sound." };
};

/** Says something new at every call, so that each event can be told from all others. */
let ticks = 0;
const tick = defineTool({
  name: "tick",
  description: "Says how often it was called.",
  effect: "read",
  idempotent: true,
  scopes: [],
  input: z.strictObject({ number: z.number() }),
  execute: () => `tick-${++ticks}.`,
});

const busy = [
  testProfile("lead", { tools: ["delegate_task", "tick"] }),
  testProfile("foreman", { tools: ["delegate_task"] }),
  testProfile("worker", { tools: [] }),
  testProfile("clock", { tools: ["tick"] }),
];

/** Calls its tool again and again, with a pause before each, until it is told to stop. */
function ticking(pauseMs: number, children: number, goesOn: () => boolean): Script {
  return ({ caller }) => {
    if (caller.profile === "lead" && caller.turn === 1) {
      const input = { profile: "clock", task: "Tick" };
      return { calls: Array.from({ length: children }, () => ({ tool: "delegate_task", input })) };
    }
    if (caller.profile === "lead" || !goesOn()) return { text: "done" };
    return { latency_ms: pauseMs, calls: [{ tool: "tick", input: { number: caller.turn } }] };
  };
}

function middleOf(numbers: readonly number[]): number {
  return (
    numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? Number.NaN
  );
}

const rounded = (number: number): string => number.toFixed(number < 100 ? 1 : 0);

describe("the speed of the page", { timeout: 180_000 }, () => {
  it("paints the tree of 1,000 delegations within a second", async () => {
    await using engine = await openEngine({
      profiles: busy,
      model: crowd,
      config: configOf(64),
      maxConcurrent: 64,
    });
    const { runId } = await engine.run({ task: "Look at the harbour", profile: "lead" });
    const { link, server } = await serve(engine, opened.files);
    const { page, context, faults } = await openPage(opened.browser, link("/system"));
    await page.getByText("Workers").first().waitFor();
    await page.addInitScript(`
      const seen = new MutationObserver(() => {
        if (document.querySelectorAll("[role=treegrid] [role=row] [role=gridcell]").length < 50) return;
        seen.disconnect();
        // When it is painted, which is after the next frame has begun.
        requestAnimationFrame(() => setTimeout(() => { window.paintedAt = performance.now(); }));
      });
      seen.observe(document, { childList: true, subtree: true });
    `);
    const painted: number[] = [];
    for (let time = 0; time < 5; time += 1) {
      await page.goto(`${server.url}/runs/${runId}`);
      painted.push(await until(page, "window.paintedAt"));
    }
    await page.getByRole("tab", { name: `Tree (${everybody})` }).waitFor();
    printTimes(`first paint of a run page with ${everybody} delegations`, painted, "1000 ms");
    expect(middleOf(painted)).toBeLessThan(1000);
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });

  it("shows an event within 200 ms of its commit", async () => {
    let isOver = false;
    const model = ticking(150, 1, () => !isOver);
    await using engine = await openEngine({ profiles: busy, model, tools: [tick] });
    const { link, server } = await serve(engine, opened.files);
    const { page, context, faults } = await openPage(opened.browser, link("/runs"));
    await page.addInitScript(`
      window.seenAt = {};
      new MutationObserver(() => {
        // The list is short: only rows in sight exist.
        for (const [, said] of (document.body?.innerText ?? "").matchAll(/tick-(\\d+)\\./g)) {
          window.seenAt[said] ??= Date.now();
        }
      }).observe(document, { childList: true, subtree: true, characterData: true });
    `);
    const committedAt = new Map<string, number>();
    const stop = engine.store.subscribe((events) => {
      for (const { payload, type } of events) {
        if (type !== "agent.tool_completed") continue;
        const [, said] = /tick-(\d+)\./.exec(payload.output) ?? [];
        if (said !== undefined) committedAt.set(said, Date.now());
      }
    });
    const { result, runId } = await engine.start({ task: "Tick", profile: "lead" });
    await page.goto(`${server.url}/runs/${runId}`);
    await page.getByRole("grid", { name: "Timeline" }).getByText("tick-").last().waitFor();
    const from = ticks + 1;
    await expect.poll(() => ticks, { timeout: 45_000 }).toBeGreaterThan(from + 30);
    isOver = true;
    await result;
    await page.getByText("run succeeded").first().waitFor();
    stop();
    const seenAt = (await page.evaluate("window.seenAt")) as Readonly<Record<string, number>>;
    const delays = Array.from({ length: 30 }, (_, index) => {
      const said = String(from + index);
      return (seenAt[said] ?? Number.NaN) - (committedAt.get(said) ?? Number.NaN);
    });
    printTimes("an event in the page after its commit, of 30", delays, "200 ms");
    expect(middleOf(delays)).toBeLessThan(200);
    expect(Math.max(...delays)).toBeLessThan(600);
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });

  it("draws 60 frames a second while 100 events a second arrive", async () => {
    let isOver = false;
    // Each turn of each of them writes five events or so.
    const model = ticking(460, 11, () => !isOver);
    await using engine = await openEngine({
      profiles: busy,
      model,
      tools: [tick],
      config: configOf(16),
      maxConcurrent: 16,
    });
    const { link, server } = await serve(engine, opened.files);
    const { page, context, faults } = await openPage(opened.browser, link("/runs"));
    const { result, runId } = await engine.start({ task: "Tick", profile: "lead" });
    await page.goto(`${server.url}/runs/${runId}`);
    await page.getByRole("grid", { name: "Timeline" }).getByText("tick-").last().waitFor();
    let events = 0;
    const stop = engine.store.subscribe((more) => {
      events += more.length;
    });
    const frames = (await page.evaluate(`new Promise((resolve) => {
      const frames = [];
      let before = performance.now();
      const until = before + 5000;
      requestAnimationFrame(function frame(now) {
        frames.push(now - before);
        before = now;
        if (now < until) requestAnimationFrame(frame);
        else resolve(frames.slice(1));
      });
    })`)) as readonly number[];
    stop();
    const seconds = frames.reduce((sum, each) => sum + each, 0) / 1000;
    const [perSecond, rate] = [frames.length / seconds, events / seconds];
    print(
      `frames a second while ${rounded(rate)} events a second arrive: ${rounded(perSecond)} on average, the longest took ${rounded(Math.max(...frames))} ms; bar 60`,
    );
    isOver = true;
    await result;
    expect(rate).toBeGreaterThan(90);
    expect(perSecond).toBeGreaterThan(45);
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });

  it("loads 150 kB at most before the first page is there", () => {
    const kilobytes = firstBytes(opened.folder) / 1000;
    print(`what the first page loads, compressed: ${rounded(kilobytes)} kB; bar 150 kB`);
    expect(kilobytes).toBeLessThan(150);
  });
});

/** Of the scripts and styles that the page names itself, as they are sent. */
function firstBytes(folder: string): number {
  const html = readFileSync(join(folder, "index.html"), "utf8");
  const named = [...html.matchAll(/(?:src|href)="\.?\/?(assets\/[^"]+\.(?:js|css))"/g)];
  expect(named.length).toBeGreaterThan(1);
  return named.reduce((sum, [, file = ""]) => {
    return sum + gzipSync(readFileSync(join(folder, file))).length;
  }, 0);
}

/** The page's policy forbids what the browser's own waiting does. */
function until(page: Page, expression: string): Promise<number> {
  return page.evaluate(`new Promise((resolve) => {
    const look = () => (${expression} === undefined ? setTimeout(look, 20) : resolve(${expression}));
    look();
  })`);
}

function printTimes(what: string, times: readonly number[], bar: string): void {
  const all = `${rounded(Math.min(...times))} to ${rounded(Math.max(...times))}`;
  print(`${what}: ${rounded(middleOf(times))} ms in the middle, ${all}; bar ${bar}`);
}

function print(line: string): void {
  // biome-ignore lint/suspicious/noConsole: figures are for whoever reads what tests say.
  console.log(line);
}
