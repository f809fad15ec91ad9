import { amountOf, type CostReport, type Measure } from "./cost-bars.ts";

export interface DayBar {
  readonly day: string;
  readonly total: number;
  /** From the bottom up: one for each series that spent something. */
  readonly parts: readonly { readonly key: string; readonly amount: number }[];
}

/** The series of all groups that have none of their own; no group has this key. */
export const others = "\u0000others";

const dayMs = 86_400_000;
const mostDays = 31;
/** A single bar says nothing about a course. */
const leastDays = 7;

/** The groups that spent most get a series of their own. */
export function seriesOf({ by, items }: CostReport, most: number): readonly string[] {
  return by === "day" ? [""] : items.slice(0, most).map(({ key }) => key);
}

/** Days without any cost are days too: from the first one to the last, a week at least and a month at most. */
export function dayBars(
  { by, days, items }: CostReport,
  series: readonly string[],
  measure: Measure,
): readonly DayBar[] {
  const lines = by === "day" ? items.map((line) => ({ ...line, day: line.key, key: "" })) : days;
  const byDay = Map.groupBy(lines, ({ day }) => day);
  const times = [...byDay.keys()].map((day) => Date.parse(day)).filter(Number.isFinite);
  if (times.length === 0) return [];
  const last = Math.max(...times);
  const earliest = Math.min(...times, last - (leastDays - 1) * dayMs);
  const first = Math.max(earliest, last - (mostDays - 1) * dayMs);
  const bars: DayBar[] = [];
  for (let time = first; time <= last; time += dayMs) {
    const day = new Date(time).toISOString().slice(0, 10);
    const own = byDay.get(day) ?? [];
    const sumOf = (key: string): number =>
      own
        .filter((line) => (series.includes(line.key) ? line.key : others) === key)
        .reduce((sum, line) => sum + amountOf(line, measure), 0);
    const parts = [...series, others]
      .map((key) => ({ key, amount: sumOf(key) }))
      .filter(({ amount }) => amount > 0);
    bars.push({ day, total: parts.reduce((sum, { amount }) => sum + amount, 0), parts });
  }
  return bars;
}
