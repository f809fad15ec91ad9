import type { RunOutcome } from "../events/close-reason.ts";
import { type AskWorkers, isRunInterrupted } from "../events/is-worked-on.ts";
import type { RunState } from "../events/run-state.ts";
import { nothingSpent, type Spent, spentIn } from "../events/spent.ts";
import type { RunRow, Store } from "../ports/store.ts";
import { StoreMemory } from "./read-run.ts";

export interface ListedRun {
  readonly row: RunRow;
  readonly spent: Spent;
  readonly state: RunOutcome | "running" | "interrupted";
  /** Absent: the row is finished, or the log is damaged. */
  readonly run?: RunState;
}

/**
 * A run in a list. The row of an open run may be older than its events (it may have finished, or have
 * another worker), so an open run is read from its events.
 */
export async function listedRun(
  store: Store,
  row: RunRow,
  workers: AskWorkers,
): Promise<ListedRun> {
  if (row.outcome !== null) {
    return { row, spent: await spentInRow(store, row), state: row.outcome };
  }
  // A damaged log is reported when the run is opened; a list shows its row.
  const run = await store.readRun(row.id).catch(() => undefined);
  if (run === undefined) {
    const state = (await store.isWorkerAlive(row.worker)) ? "running" : "interrupted";
    return { row, spent: await spentInRow(store, row), state };
  }
  const { finishedAt, outcome, worker } = run;
  const isInterrupted = await isRunInterrupted(store, run, workers);
  return {
    row: { ...row, finishedAt, outcome, worker, delegations: run.delegations.size },
    spent: spentIn(run),
    state: outcome ?? (isInterrupted ? "interrupted" : "running"),
    run,
  };
}

/** Spent amounts of finished runs, which do not change. */
const finished = new StoreMemory<Spent>(10_000);

/** What a run has spent. The row has the sums; only the log tells whether they are estimates. */
export async function spentInRow(
  store: Store,
  { cost, id, outcome, tokens }: Pick<RunRow, "cost" | "id" | "outcome" | "tokens">,
): Promise<Spent> {
  if (outcome === null || tokens === 0) return { ...nothingSpent, tokens, cost };
  const known = finished.get(store, id);
  if (known !== undefined) return known;
  const run = await store.readRun(id).catch(() => undefined);
  if (run === undefined) return { tokens, cost };
  const { estimated } = spentIn(run);
  const spent: Spent = { tokens, cost, ...(estimated && { estimated }) };
  finished.keep(store, id, spent);
  return spent;
}
