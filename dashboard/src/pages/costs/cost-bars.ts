import type { Operations } from "../../../../src/surfaces/client/mandate-client.ts";

export type CostReport = Operations["getCosts"]["reply"];
export type CostLine = CostReport["items"][number];
export type Measure = "cost" | "tokens";

export function amountOf(
  { completion, cost, prompt }: Omit<CostLine, "key">,
  measure: Measure,
): number {
  return measure === "cost" ? cost : prompt + completion;
}

/** Money is what people look for; where all models are free, or have no price, tokens say more. */
export function usualMeasure({ total }: Pick<CostReport, "total">): Measure {
  return total.cost > 0 ? "cost" : "tokens";
}

/** From 0 to 1, of the greatest: what is there at all can be seen. */
export function sharesOf(lines: readonly CostLine[], measure: Measure): readonly number[] {
  const amounts = lines.map((line) => amountOf(line, measure));
  const greatest = Math.max(...amounts, 0);
  return amounts.map((amount) => {
    if (greatest === 0 || amount <= 0) return 0;
    return Math.max(amount / greatest, 0.01);
  });
}

const dayMs = 86_400_000;
const mostDays = 31;

/** Days without any cost are days too: from the first one told to the last, a month at most. */
export function everyDay(lines: readonly CostLine[]): readonly CostLine[] {
  const known = new Map(lines.map((line) => [line.key, line]));
  const times = lines.map(({ key }) => Date.parse(key)).filter(Number.isFinite);
  if (times.length === 0) return [];
  const last = Math.max(...times);
  const first = Math.max(Math.min(...times), last - (mostDays - 1) * dayMs);
  const days: CostLine[] = [];
  for (let time = first; time <= last; time += dayMs) {
    const key = new Date(time).toISOString().slice(0, 10);
    days.push(known.get(key) ?? { key, prompt: 0, completion: 0, cost: 0 });
  }
  return days;
}
