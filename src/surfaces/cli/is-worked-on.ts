import { isOpen } from "../../events/delegation.ts";
import type { RunState } from "../../events/run-state.ts";
import type { Store } from "../../ports/store.ts";

/**
 * Whether somebody works on a run that has not ended, or will without being told. One that is
 * spread has no worker of its own, and whoever started it may have left: its delegations are at
 * work with those who claimed them, or wait in queues, where any worker that lives also puts back
 * what a lost one had.
 */
export async function isWorkedOn(store: Store, run: RunState): Promise<boolean> {
  if (run.spread === null) return store.isWorkerAlive(run.worker);
  const open = [...run.delegations.values()].filter(isOpen);
  const holders = new Set(open.flatMap(({ share }) => share?.worker ?? []));
  for (const worker of holders) if (await store.isWorkerAlive(worker)) return true;
  const workers = (await store.workers?.()) ?? [];
  if (workers.some(({ executor, isAlive }) => executor !== null && isAlive)) return true;
  // What nobody has claimed yet may still be on its way into a queue.
  return holders.size === 0 && store.isWorkerAlive(run.worker);
}
