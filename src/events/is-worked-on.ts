import type { Store } from "../ports/store.ts";
import type { WorkerRow } from "../ports/workers.ts";
import { isOpen } from "./delegation.ts";
import { isPaused, type RunState } from "./run-state.ts";

/** What tells who lives. */
export type Liveness = Pick<Store, "isWorkerAlive" | "workers">;

export type AskWorkers = () => Promise<readonly WorkerRow[]>;

/** For callers that look at several runs: the first that is spread has the list read, for all of them. */
export function askWorkersOnce(store: Liveness): AskWorkers {
  let asked: Promise<readonly WorkerRow[]> | undefined;
  return () => {
    asked ??= store.workers?.() ?? Promise.resolve([]);
    return asked;
  };
}

/**
 * Whether a process works on a run that has not ended, or will without being told. One that is
 * spread has no worker of its own, and the process that started it may have ended: its delegations are at
 * work with those who claimed them, or wait in queues, where any worker that lives also puts back
 * what a lost one had.
 */
export async function isWorkedOn(
  store: Liveness,
  run: RunState,
  workers: AskWorkers = askWorkersOnce(store),
): Promise<boolean> {
  if (run.spread === null) return store.isWorkerAlive(run.worker);
  // First, because it is the answer as a rule, and looks at no delegation.
  if ((await workers()).some(({ executor, isAlive }) => executor !== null && isAlive)) return true;
  const open = [...run.delegations.values()].filter(isOpen);
  const holders = new Set(open.flatMap(({ share }) => share?.worker ?? []));
  for (const worker of holders) if (await store.isWorkerAlive(worker)) return true;
  // What is not claimed yet may still be on its way into a queue.
  return holders.size === 0 && store.isWorkerAlive(run.worker);
}

/** It has not finished, and no process works on it. */
export async function isRunInterrupted(
  store: Liveness,
  run: RunState,
  workers?: AskWorkers,
): Promise<boolean> {
  if (run.outcome !== null) return false;
  return isPaused(run) || !(await isWorkedOn(store, run, workers));
}
