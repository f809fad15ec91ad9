import { describe, expect, it } from "vitest";
import type { CostReport } from "./cost-bars.ts";
import { dayBars, others, seriesOf } from "./day-bars.ts";

const line = (key: string, day: string, cost: number) => ({
  ...{ key, day, cost, prompt: 0, completion: 0 },
});

const report = (by: CostReport["by"], days: CostReport["days"]): CostReport => {
  const keys = [...new Set(days.map(({ key }) => key))];
  const items = keys.map((key) => line(key, "", 1));
  const total = { prompt: 0, completion: 0, cost: 0 };
  return { by, items, days, total, runs: 1, isComplete: true };
};

describe("bars of days", () => {
  it("have a part for each of the groups that spent most, and one for all others", () => {
    const of = report("profile", [
      line("a", "2026-03-01", 3),
      line("b", "2026-03-01", 2),
      line("c", "2026-03-03", 1),
      line("d", "2026-03-03", 4),
    ]);
    const series = seriesOf(of, 2);
    expect(series).toEqual(["a", "b"]);
    const bars = dayBars(of, series, "cost");
    expect([bars.length, bars[0]]).toEqual([7, { day: "2026-02-25", total: 0, parts: [] }]);
    expect(bars.slice(-3)).toEqual([
      {
        day: "2026-03-01",
        total: 5,
        parts: [
          { key: "a", amount: 3 },
          { key: "b", amount: 2 },
        ],
      },
      { day: "2026-03-02", total: 0, parts: [] },
      { day: "2026-03-03", total: 5, parts: [{ key: others, amount: 5 }] },
    ]);
  });

  it("are those of a month at most, and none where nothing was spent", () => {
    const days = ["2025-01-01", "2026-03-01"].map((day) => ({ ...line(day, "", 1) }));
    const of = { ...report("day", []), items: days };
    const bars = dayBars(of, seriesOf(of, 4), "cost");
    expect([bars.length, bars.at(-1)?.day, bars.at(-1)?.total]).toEqual([31, "2026-03-01", 1]);
    expect(dayBars({ ...of, items: [] }, [""], "tokens")).toEqual([]);
    expect(dayBars({ ...of, items: [line("no day", "", 1)] }, [""], "cost")).toEqual([]);
  });
});
