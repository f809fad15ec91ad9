import fc from "fast-check";
import { expect, test } from "vitest";
import { allTargets } from "./all-targets.ts";
import { decodeInput, encodeInput } from "./encode-input.ts";
import { findPollution } from "./find-pollution.ts";
import { parseOptions } from "./options.ts";
import { runTarget } from "./run-target.ts";
import { defineTarget, type Surface } from "./target.ts";

const plan = { seed: 1, seconds: 10, cases: 300 };

function targetOf(check: (input: number) => void | Promise<void>, caseMs = 1000) {
  return defineTarget<number>({
    ...{ name: "example", surface: "config", promise: "it holds", caseMs },
    open: () => ({ inputs: fc.nat(10_000), check }),
  });
}

test("what does not hold is found, made small, and fails again by its seed and path", async () => {
  const target = targetOf((input) => {
    if (input > 1000) throw new Error(`${input} is too many`);
  });
  const { failure } = await runTarget(target, plan);
  expect(failure?.input).toBe(1001);
  const { path = "", seed = 0 } = failure ?? {};
  const again = await runTarget(target, { ...plan, seed, path });
  expect(again.failure?.input).toBe(1001);
  expect(again.cases).toBe(1);
});

test("a case that takes too long, never ends, or fails where nobody hears it is found", async () => {
  const slow = await runTarget(
    targetOf(() => keepBusy(60), 20),
    plan,
  );
  expect(slow.failure?.error).toContain("20 are the most");
  const stuck = await runTarget(
    targetOf(() => new Promise(() => undefined), 5),
    { ...plan, seconds: 1 },
  );
  expect(stuck.failure?.error).toContain("had not ended");
});

test("what every object would have is noticed", async () => {
  const target = targetOf(() => {
    Object.defineProperty(Object.prototype, "polluted", { value: 1, configurable: true });
  });
  try {
    const { failure } = await runTarget(target, { ...plan, cases: 5 });
    expect(failure?.error).toBe("Object.prototype has got polluted.");
  } finally {
    Reflect.deleteProperty(Object.prototype, "polluted");
  }
  expect(findPollution()).toBeUndefined();
});

test("inputs are kept as JSON without losing what JSON has no word for", () => {
  const input = { bytes: Buffer.from([0, 255]), list: [undefined, -0, Number.NaN], "\ud800": null };
  const stored = JSON.parse(JSON.stringify(encodeInput(input)));
  expect(decodeInput(stored)).toEqual(input);
});

test("every row of bad input has targets, and each has a name of its own", () => {
  const surfaces = new Set(allTargets.map(({ surface }) => surface));
  const rows: readonly Surface[] = [
    ...(["profiles", "config", "registry", "commands", "tools", "shell", "mcp", "http"] as const),
    ...(["models", "git", "log", "terminal", "page", "documents"] as const),
  ];
  expect([...surfaces].sort()).toEqual([...rows].sort());
  expect(new Set(allTargets.map(({ name }) => name)).size).toBe(allTargets.length);
});

test("options are what they should be, or a sentence", () => {
  expect(parseOptions(["--seconds", "600", "--only", "http", "--seed", "7"], {})).toMatchObject({
    ...{ seconds: 600, only: ["http"], seed: 7 },
  });
  expect(parseOptions([], { MANDATE_FUZZ_SECONDS: "5" }).seconds).toBe(5);
  expect(() => parseOptions(["--seconds", "soon"], {})).toThrow(/--seconds is a number/);
});

/** What counts is the processor's time: a machine that does much else makes no case slow. */
function keepBusy(ms: number): void {
  const began = process.cpuUsage();
  while (process.cpuUsage(began).user < ms * 1000);
}
