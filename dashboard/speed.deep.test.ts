import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { noExposure } from "../src/contracts/exposure.ts";
import { defaultConfig } from "../src/control/config.ts";
import type { Script } from "../src/models/scripted/scripted-model.ts";
import { openEngine, testProfile } from "../src/testing/engine-fixture.ts";
import { until } from "../src/testing/until.ts";
import { defineTool } from "../src/tools/tool.ts";
import { openPage, serve } from "./browser.test-support.ts";
import { testBrowser } from "./test-browser.test-support.ts";

const opened = testBrowser();

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
  exposure: noExposure,
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

describe("a page with much to show", { timeout: 180_000 }, () => {
  it("paints the tree of 1,000 delegations", async () => {
    await using engine = await openEngine({
      profiles: busy,
      model: crowd,
      config: configOf(64),
      maxConcurrent: 64,
    });
    const { runId } = await engine.run({ task: "Look at the harbour", profile: "lead" });
    const { link, server } = await serve(engine, opened.files);
    const { page, context, faults } = await openPage(opened.browser, link(`/runs/${runId}`));
    await page.getByRole("tab", { name: `Tree (${everybody})` }).waitFor();
    const cells = page.getByRole("treegrid").getByRole("gridcell");
    await until("the tree is painted", async () => (await cells.count()) >= 50);
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });

  it("shows every event after its commit", async () => {
    let isOver = false;
    const model = ticking(50, 1, () => !isOver);
    await using engine = await openEngine({ profiles: busy, model, tools: [tick] });
    const { link, server } = await serve(engine, opened.files);
    const { page, context, faults } = await openPage(opened.browser, link("/runs"));
    await page.addInitScript(`
      window.seen = new Set();
      new MutationObserver(() => {
        // The list is short: only rows in sight exist.
        for (const [, said] of (document.body?.innerText ?? "").matchAll(/tick-(\\d+)\\./g)) {
          window.seen.add(Number(said));
        }
      }).observe(document, { childList: true, subtree: true, characterData: true });
    `);
    const { result, runId } = await engine.start({ task: "Tick", profile: "lead" });
    await page.goto(`${server.url}/runs/${runId}`);
    await page.getByRole("grid", { name: "Timeline" }).getByText("tick-").last().waitFor();
    const from = ticks + 1;
    const wanted = Array.from({ length: 30 }, (_, index) => from + index);
    await until("they are seen", async () => {
      const seen = (await page.evaluate("[...window.seen]")) as readonly number[];
      return wanted.every((said) => seen.includes(said));
    });
    isOver = true;
    await result;
    await page.getByText("run succeeded").first().waitFor();
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });

  it("loads 150 kB at most before the first page is there", () => {
    expect(firstBytes(opened.folder) / 1000).toBeLessThan(150);
  });
});

/** The bytes of the scripts and styles that the page names itself, as they are sent. */
function firstBytes(folder: string): number {
  const html = readFileSync(join(folder, "index.html"), "utf8");
  const named = [...html.matchAll(/(?:src|href)="\.?\/?(assets\/[^"]+\.(?:js|css))"/g)];
  expect(named.length).toBeGreaterThan(1);
  return named.reduce((sum, [, file = ""]) => {
    return sum + gzipSync(readFileSync(join(folder, file))).length;
  }, 0);
}
