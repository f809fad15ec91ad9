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

/** A group whose key is not known, as the person of a run that was deleted. */
export function nameOfKey(by: CostReport["by"], key: string): string {
  if (key !== "" || by === "day") return key;
  return by === "workspace" ? "No folder, or a deleted run" : "Unknown";
}
