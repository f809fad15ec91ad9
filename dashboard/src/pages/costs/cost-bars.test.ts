import { describe, expect, it } from "vitest";
import { amountOf, type CostLine, everyDay, sharesOf, usualMeasure } from "./cost-bars.ts";

const line = (key: string, cost = 0, tokens = 0): CostLine => {
  return { key, cost, prompt: tokens, completion: 0 };
};

describe("bars of costs", () => {
  it("are shares of the greatest, and never too small to be seen", () => {
    const lines = [line("a", 2), line("b", 1), line("c", 0.000001), line("d", 0)];
    expect(sharesOf(lines, "cost")).toEqual([1, 0.5, 0.01, 0]);
    expect(sharesOf([line("a"), line("b")], "cost")).toEqual([0, 0]);
    expect(sharesOf([], "tokens")).toEqual([]);
  });

  it("are of tokens where nothing costs money", () => {
    expect(usualMeasure({ total: line("", 0, 5) })).toBe("tokens");
    expect(usualMeasure({ total: line("", 0.1, 5) })).toBe("cost");
    expect(amountOf({ prompt: 3, completion: 4, cost: 1 }, "tokens")).toBe(7);
  });
});

describe("days", () => {
  it("have no gaps, and end with the last one", () => {
    const days = everyDay([line("2026-03-03", 1), line("2026-02-27", 2)]);
    expect(days.map(({ key, cost }) => [key, cost])).toEqual([
      ["2026-02-27", 2],
      ["2026-02-28", 0],
      ["2026-03-01", 0],
      ["2026-03-02", 0],
      ["2026-03-03", 1],
    ]);
  });

  it("are a month at most, whatever is told", () => {
    expect(everyDay([line("1970-01-01"), line("2026-03-03")])).toHaveLength(31);
    expect(everyDay([line("no day")])).toEqual([]);
    expect(everyDay([])).toEqual([]);
  });
});
