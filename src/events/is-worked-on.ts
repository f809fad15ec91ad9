import type { Store } from "../ports/store.ts";
import type { WorkerRow } from "../ports/workers.ts";
import { isOpen } from "./delegation.ts";
import { isPaused, type RunState } from "./run-state.ts";

/** The part of a store that knows which workers are alive. */
export type Liveness = Pick<Store, "isWorkerAlive" | "workers">;

export type AskWorkers = () => Promise<readonly WorkerRow[]>;

/** For callers that check several runs: reads the list of workers at most once. */
export function askWorkersOnce(store: Liveness): AskWorkers {
  let asked: Promise<readonly WorkerRow[]> | undefined;
  return () => {
    asked ??= store.workers?.() ?? Promise.resolve([]);
    return asked;
  };
}

/**
 * Whether a process works on an open run, or will do so by itself. A distributed run has no worker of its
 * own: its delegations belong to the workers that claimed them, or wait in queues. Any live queue worker
 * also re-enqueues orphaned delegations.
 */
export async function isWorkedOn(
  store: Liveness,
  run: RunState,
  workers: AskWorkers = askWorkersOnce(store),
): Promise<boolean> {
  if (run.spread === null) return store.isWorkerAlive(run.worker);
  // First, because it usually decides, and reads no delegation.
  if ((await workers()).some(({ executor, isAlive }) => executor !== null && isAlive)) return true;
  const open = [...run.delegations.values()].filter(isOpen);
  const holders = new Set(open.flatMap(({ share }) => share?.worker ?? []));
  for (const worker of holders) if (await store.isWorkerAlive(worker)) return true;
  // Unclaimed delegations may not have been enqueued yet by the process that started the run.
  return holders.size === 0 && store.isWorkerAlive(run.worker);
}

/** Whether a run is open, and no process works on it. */
export async function isRunInterrupted(
  store: Liveness,
  run: RunState,
  workers?: AskWorkers,
): Promise<boolean> {
  if (run.outcome !== null) return false;
  return isPaused(run) || !(await isWorkedOn(store, run, workers));
}
