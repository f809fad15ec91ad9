import { nothingSpent, type Spent, spentIn } from "../events/spent.ts";
import type { RunRow, Store } from "../ports/store.ts";
import { StoreMemory } from "./store-memory.ts";

/** What a finished run has spent does not change any more. */
const finished = new StoreMemory<Spent>(10_000);

/** What a run in a list has spent. The row of a run has the sums; only its log says what is estimated. */
export async function spentInRow(
  store: Store,
  { cost, id, outcome, tokens }: Pick<RunRow, "cost" | "id" | "outcome" | "tokens">,
): Promise<Spent> {
  if (outcome === null || tokens === 0) return { ...nothingSpent, tokens, cost };
  const known = finished.get(store, id);
  if (known !== undefined) return known;
  // A log that is damaged says so where it is looked at; a list shows what its row has.
  const run = await store.readRun(id).catch(() => undefined);
  if (run === undefined) return { tokens, cost };
  const { estimated } = spentIn(run);
  const spent: Spent = { tokens, cost, ...(estimated && { estimated }) };
  finished.keep(store, id, spent);
  return spent;
}
