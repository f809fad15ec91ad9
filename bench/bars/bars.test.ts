import { expect, test } from "vitest";
import { type Bar, growth } from "./bar.ts";
import { barsWanted, runBars } from "./run-bars.ts";

const barOf = (name: string, figure: () => number): Bar => ({
  ...{ name, about: "one over the other", atMost: 2 },
  measure: async () => figure(),
});

async function run(...bars: readonly Bar[]): Promise<{ code: number; text: string }> {
  let text = "";
  const code = await runBars(bars, (more) => {
    text += more;
  });
  return { code, text };
}

test("every bar has a name of its own, and a part of a name selects bars", () => {
  const names = (barsWanted(["--bars"]) ?? []).map(({ name }) => name);
  expect(names.length).toBeGreaterThan(30);
  expect(new Set(names).size).toBe(names.length);
  const plans = (barsWanted(["--bars=plans:"]) ?? []).map(({ name }) => name);
  expect(plans).toEqual(names.filter((name) => name.startsWith("plans:")));
  expect(plans).not.toEqual([]);
  expect(barsWanted(["--quick"])).toBeUndefined();
});

test("bars that are met exit with zero, a line for each", async () => {
  const { code, text } = await run(
    barOf("a", () => 2),
    barOf("b: longer", () => 0.5),
  );
  expect(code).toBe(0);
  expect(text.split("\n")).toEqual([
    "a             2.00  at most   2  met      (one over the other)",
    "b: longer     0.50  at most   2  met      (one over the other)",
    "2 of 2 bars are met.",
    "",
  ]);
});

test.each([
  ["exceeds its bar", () => 2.01, "2.01  at most   2  NOT MET"],
  ["has no figure", () => Number.NaN, "NaN  at most   2  NOT MET"],
  [
    "fails",
    () => {
      throw new Error("The disk is full.");
    },
    "NOT MET: The disk is full.",
  ],
])("a bar that %s exits with one, and the others are measured", async (_what, figure, says) => {
  const { code, text } = await run(
    barOf("a", figure),
    barOf("b", () => 1),
  );
  expect(code).toBe(1);
  expect(text).toContain(says);
  expect(text).toContain("1 of 2 bars are met.");
});

test("no bars at all are a failure", async () => {
  expect(barsWanted(["--bars=moon"])).toEqual([]);
  expect((await run()).code).toBe(1);
});

test("growth compares eight times the size with one time, and prepares both before", async () => {
  const prepared: number[] = [];
  const done: number[] = [];
  await growth(
    10,
    (size) => {
      prepared.push(size);
      return () => done.push(size);
    },
    { rounds: 1, leastUs: 1 },
  );
  expect(prepared.toSorted((one, other) => one - other)).toEqual([10, 80]);
  expect(new Set(done)).toEqual(new Set([10, 80]));
});
