import { describe, expect, it } from "vitest";
import { amountOf, type CostLine, sharesOf, usualMeasure } from "./cost-bars.ts";

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
