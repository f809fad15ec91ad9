import type { RunState } from "../../events/run-state.ts";

/** What all delegations of a run have used together, as its row says it. */
export function runTotals({ delegations }: RunState): { tokens: number; cost: number } {
  let tokens = 0;
  let cost = 0;
  for (const { usage } of delegations.values()) {
    tokens += usage.prompt + usage.completion;
    cost += usage.cost;
  }
  return { tokens, cost };
}
