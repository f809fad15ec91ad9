import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { testFolder } from "../src/testing/test-folder.test-support.ts";
import { barsOf } from "./load/bars.ts";
import { measureChildren } from "./load/children/measure-children.ts";
import { loadDocument } from "./load/document.ts";
import { parseOptions } from "./load/options.ts";
import { measureCancel } from "./load/queue/measure-cancel.ts";
import { measureOneRun } from "./load/queue/measure-queue.ts";
import { measureRecovery } from "./load/queue/measure-recovery.ts";
import { measured } from "./load/results.ts";
import { measureSoak } from "./load/soak/measure-soak.ts";
import type { Sample } from "./load/soak/sample.ts";
import { judge } from "./load/soak/verdict.ts";
import { measureStore } from "./load/store/measure-store.ts";

// A twentieth of what `npm run load` does. Counts must hold here too; times are nobody's at this size.

const print = () => undefined;
const slow = { timeout: 120_000 };

it("ends everything that was queued once, whatever is cancelled or killed", slow, async () => {
  const whole = await measureOneRun(400);
  expect(whole).toMatchObject({ closed: 401, wrong: 0, violations: 0 });
  const cancel = await measureCancel(400);
  expect(cancel).toMatchObject({ startedAfter: 0, violations: 0 });
  expect(cancel.open).toBeGreaterThan(100);
  const recovery = await measureRecovery("one run", 1, 400);
  expect(recovery).toMatchObject({ takenTwice: 0, violations: 0 });
  expect(recovery.open).toBeGreaterThan(200);
});

it("times the appends of children that work side by side", slow, async () => {
  const measure = await measureChildren("full", 10, 1000);
  expect(measure.violations).toBe(0);
  expect(measure.events).toBeGreaterThan(20);
  expect(measure.append.p50).toBeGreaterThan(0);
  expect(measure.append.max).toBeGreaterThanOrEqual(measure.append.p99);
});

it("serves a home with many runs, and takes up what was open in it", slow, async () => {
  const binary = join(import.meta.dirname, "../src/mandate.ts");
  const store = await measureStore({ events: 15_000, binary, home: undefined, print, times: 1 });
  expect(store.generated.events).toBeGreaterThanOrEqual(15_000);
  expect(store.recovery.taken).toBe(1);
  // The run itself, and its root with each of its children.
  expect(store.recovery.wrote).toBeGreaterThanOrEqual(15);
  expect(store.secondWrote).toBe(0);
  expect(store.commands.map(({ command }) => command)).toContain("mandate verify");
  expect(store.requests.length).toBeGreaterThan(0);
});

it("soaks a server with every kind of visitor, and all of it holds", slow, async () => {
  const csv = join(testFolder(), "soak.csv");
  const soaked = await measureSoak({ ms: 6000, paceMs: 300, csv, print });
  expect(soaked.visits.failures).toEqual([]);
  expect(soaked.verified.violations).toBe(0);
  expect(Object.keys(soaked.visits.done)).toHaveLength(7);
  expect(readFileSync(csv, "utf8").split("\n").length).toBeGreaterThan(4);
  const text = loadDocument({ soak: measured(soaked, [0]) });
  expect(text).toContain("| heap, MB |");
});

it("calls growth by its second half, and sees it beneath the noise", () => {
  const sampleAt = (index: number, heap: number): Sample => ({
    ...{ seconds: index * 10, heap: heap * 2 ** 20, heapTotal: 0, external: 0, rss: 3e8 },
    ...{ handles: 20, descriptors: 40, lagP99Ms: 1, lagMaxMs: 2, cpuPercent: 10 },
    ...{ events: index * 100, runs: index, database: index * 1e5 },
  });
  const noise = (index: number) => 4 * Math.sin(index * 12.9);
  const hour = Array.from({ length: 360 }, (_, index) => index);
  const flat = judge(hour.map((index) => sampleAt(index, 50 + Math.min(index, 90) + noise(index))));
  expect(flat.map(({ isFlat }) => isFlat)).toEqual([true, true, true, true, true]);
  const [leaking] = judge(hour.map((index) => sampleAt(index, 50 + index / 36 + noise(index))));
  expect(leaking?.isFlat).toBe(false);
  expect(leaking?.perHour).toBeGreaterThan(8);
});

it("says what it cannot measure, and judges only what it did", () => {
  expect(() => parseOptions(["--parts", "moon"], "")).toThrow('There is no part "moon".');
  expect(() => parseOptions(["--soak", "long"], "")).toThrow("--soak takes a time such as 60m");
  expect(() => parseOptions(["--events", "0"], "")).toThrow("--events is a whole number");
  expect(parseOptions(["--soak", "60m"], "LOAD.md")).toMatchObject({ soakMs: 3_600_000 });
  expect(parseOptions(["--events", "5000"], "LOAD.md").results).toBeUndefined();
  expect(barsOf({})).toEqual([]);
});
