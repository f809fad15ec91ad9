import { z } from "zod";
import {
  openBrowser,
  openPage,
  serve,
  type TestBrowser,
} from "../../dashboard/browser.test-support.ts";
import { noExposure } from "../../src/contracts/exposure.ts";
import { defaultConfig } from "../../src/control/config.ts";
import type { Script } from "../../src/models/scripted/scripted-model.ts";
import { openEngine, type TestEngine, testProfile } from "../../src/testing/engine-fixture.ts";
import { until } from "../../src/testing/until.ts";
import { defineTool } from "../../src/tools/tool.ts";
import { median } from "../run/report.ts";
import type { Bar } from "./bar.ts";

const { delegation } = defaultConfig.agents;
const options = {
  maxConcurrent: 64,
  config: {
    limits: { ...defaultConfig.limits, runTokens: 1e9, maxChildren: 100_000 },
    agents: {
      delegation: {
        ...delegation,
        ...{ maxConcurrent: 64, tokenBudget: { default: 1e8, max: 1e9 } },
        profiles: { directory: "/nowhere" },
      },
    },
  },
  profiles: [
    testProfile("lead", { tools: ["delegate_task", "tick"] }),
    testProfile("foreman", { tools: ["delegate_task"] }),
    testProfile("clock", { tools: ["tick"] }),
  ],
};

/** Says something new at every call, so that each event is recognised on the page. */
let ticks = 0;
const tick = defineTool({
  ...{ name: "tick", description: "Says how often it was called.", effect: "read" },
  exposure: noExposure,
  ...{ idempotent: true, scopes: [], input: z.strictObject({ number: z.number() }) },
  execute: () => `tick-${++ticks}.`,
});

const hand = (profile: string, task: string, count: number) => ({
  calls: Array.from({ length: count }, () => ({
    ...{ tool: "delegate_task", input: { profile, task } },
  })),
});

/** A lead with 40 foremen, each with as many workers as the task says. */
const crowd: Script = ({ caller: { profile, task }, messages }) => {
  if (messages.at(-1)?.role !== "user") return { text: "All of them reported." };
  if (profile === "lead") return hand("foreman", task, 40);
  return profile === "foreman" ? hand("clock", "Look", Number(task)) : { text: "It is sound." };
};

/** Children that call a tool again and again until they are told to stop. */
function ticking(children: number, pauseMs: number, goesOn: () => boolean): Script {
  return ({ caller: { profile, turn } }) => {
    if (profile === "lead" && turn === 1) return hand("clock", "Tick", children);
    if (profile === "lead" || !goesOn()) return { text: "done" };
    return { latency_ms: pauseMs, calls: [{ tool: "tick", input: { number: turn } }] };
  };
}

let opened: Promise<TestBrowser> | undefined;

export async function closeBrowser(): Promise<void> {
  await (await opened)?.[Symbol.asyncDispose]();
  opened = undefined;
}

type Opened = Awaited<ReturnType<typeof openPage>>;

/** The page of an engine, opened in the browser that all of these bars share. */
async function onPage<Result>(
  engine: TestEngine,
  work: (page: Opened["page"], url: string) => Promise<Result>,
): Promise<Result> {
  opened ??= openBrowser();
  const { browser, files } = await opened;
  const { link, server } = await serve(engine, files);
  const { context, faults, page } = await openPage(browser, link("/system"));
  page.setDefaultTimeout(60_000);
  try {
    await page.getByText("Workers").first().waitFor();
    const result = await work(page, server.url);
    if (faults.length > 0) throw new Error(faults.join("\n"));
    return result;
  } finally {
    await context.close();
    await server.close(100);
  }
}

/** The first 50 cells of the tree, and the frame after them. */
const watchPaint = `
  const seen = new MutationObserver(() => {
    if (document.querySelectorAll("[role=treegrid] [role=row] [role=gridcell]").length < 50) return;
    seen.disconnect();
    requestAnimationFrame(() => setTimeout(() => { window.paintedAt = performance.now(); }));
  });
  seen.observe(document, { childList: true, subtree: true });
`;

async function measurePaint(): Promise<number> {
  await using engine = await openEngine({ ...options, tools: [tick], model: crowd });
  const few = await engine.run({ task: "1", profile: "lead" });
  const many = await engine.run({ task: "25", profile: "lead" });
  return await onPage(engine, async (page, url) => {
    await page.addInitScript(watchPaint);
    const paint = async (runId: string): Promise<number> => {
      await page.goto(`${url}/runs/${runId}`);
      await page.getByRole("treegrid").getByRole("gridcell").nth(49).waitFor();
      return until("the paint", () => page.evaluate<number | undefined>("window.paintedAt"));
    };
    const ratios: number[] = [];
    for (let round = 0; round < 6; round += 1) {
      const below = await paint(few.runId);
      ratios.push((await paint(many.runId)) / below);
    }
    return median(ratios.slice(1));
  });
}

/** The mean time of a frame, of two seconds. */
const frames = `new Promise((resolve) => {
  const at = [];
  requestAnimationFrame(function frame(now) {
    at.push(now);
    if (now - at[0] < 2000) requestAnimationFrame(frame);
    else resolve((now - at[0]) / (at.length - 1));
  });
})`;

async function measureFrames(): Promise<number> {
  let isOver = false;
  await using engine = await openEngine({
    ...{ ...options, tools: [tick], model: ticking(11, 460, () => !isOver) },
  });
  return await onPage(engine, async (page, url) => {
    const { result, runId } = await engine.start({ task: "Tick", profile: "lead" });
    await page.goto(`${url}/runs/${runId}`);
    await page.getByRole("grid", { name: "Timeline" }).getByText("tick-").last().waitFor();
    const busy: number[] = [];
    const from = ticks;
    for (let round = 0; round < 3; round += 1) busy.push(await page.evaluate(frames));
    if (ticks < from + 60) throw new Error(`Only ${ticks - from} calls were made in six seconds.`);
    isOver = true;
    await result;
    await page.getByText("run succeeded").first().waitFor();
    const idle: number[] = [];
    for (let round = 0; round < 3; round += 1) idle.push(await page.evaluate(frames));
    return median(busy) / median(idle);
  });
}

const watchTicks = `
  window.seenAt = {};
  new MutationObserver(() => {
    for (const [, said] of (document.body?.innerText ?? "").matchAll(/tick-(\\d+)\\./g)) {
      window.seenAt[said] ??= Date.now();
    }
  }).observe(document, { childList: true, subtree: true, characterData: true });
`;

/** From a request of the page's own to the frame after its answer. */
const request = `(async () => {
  const before = performance.now();
  await (await fetch("/api/v1/me")).text();
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  return performance.now() - before;
})()`;

async function measureEvents(): Promise<number> {
  let isOver = false;
  await using engine = await openEngine({
    ...{ ...options, tools: [tick], model: ticking(1, 150, () => !isOver) },
  });
  const committedAt = new Map<string, number>();
  engine.store.subscribe((events) => {
    for (const { payload, type } of events) {
      const said = type === "agent.tool_completed" && /tick-(\d+)\./.exec(payload.output)?.[1];
      if (said) committedAt.set(said, Date.now());
    }
  });
  return await onPage(engine, async (page, url) => {
    await page.addInitScript(watchTicks);
    const { result, runId } = await engine.start({ task: "Tick", profile: "lead" });
    await page.goto(`${url}/runs/${runId}`);
    await page.getByRole("grid", { name: "Timeline" }).getByText("tick-").last().waitFor();
    const [from, requests]: [number, number[]] = [ticks + 1, []];
    await until("30 events more", async () => {
      requests.push(await page.evaluate(request));
      return ticks >= from + 30;
    });
    isOver = true;
    await result;
    await page.getByText("run succeeded").first().waitFor();
    const seenAt: Readonly<Record<string, number>> = await page.evaluate("window.seenAt");
    const delays = Array.from({ length: 30 }, (_, index) => {
      const said = String(from + index);
      return (seenAt[said] ?? Number.NaN) - (committedAt.get(said) ?? Number.NaN);
    });
    if (delays.some(Number.isNaN)) throw new Error("The page did not show every event.");
    return median(delays) / median(requests);
  });
}

/** The page, in a browser. */
export const pageBars: readonly Bar[] = [
  {
    name: "page: first paint of a run with 1,041 delegations",
    about: "its paint over that of a run with 81",
    atMost: 4,
    measure: measurePaint,
  },
  {
    name: "page: an event after its commit",
    about: "until the page shows it over a request of the page and a frame",
    atMost: 16,
    measure: measureEvents,
  },
  {
    name: "page: frames while 100 events a second arrive",
    about: "time of a frame over that of an idle page",
    atMost: 3,
    measure: measureFrames,
  },
];
