import { tellPruned } from "../events/pruned-runs.ts";
import type { RunState } from "../events/run-state.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { Store } from "../ports/store.ts";
import { StoreMemory } from "./store-memory.ts";

/** A finished run takes no more events: a later read need not fold its log again. */
const finished = new StoreMemory<RunState>(8);
const mostKept = 2000;

/** Of a run's id, or of a delegation's in it. Not to be changed: others are given the same. */
export async function readRunOf(store: Store, id: string): Promise<RunState> {
  const runId = await store.findRun(id);
  const run = runId === undefined ? undefined : await readFinished(store, runId);
  if (run !== undefined) return run;
  const isRun = id.startsWith("r");
  const what = isRun ? "run" : "delegation";
  throw new MandateError(
    isRun ? "unknown-run" : "unknown-delegation",
    (await tellPruned(store, id)) ?? `There is no ${what} ${id}.`,
  );
}

async function readFinished(store: Store, runId: string): Promise<RunState | undefined> {
  const known = finished.get(store, runId);
  if (known !== undefined) return known;
  const run = await store.readRun(runId);
  if (run && run.outcome !== null && run.delegations.size <= mostKept) {
    finished.keep(store, runId, run);
  }
  return run;
}
