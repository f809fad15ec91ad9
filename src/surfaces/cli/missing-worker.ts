import type { StartedRun, Work } from "./work-on.ts";

/** A worker that has room takes what waits well within this time. */
const usualMs = 4000;

/**
 * Says once that what was started waits for a worker, and that there is none. Gives the way to stop
 * looking.
 */
export function tellOfMissingWorker(
  { display, io, runtime }: Pick<Work, "display" | "io" | "runtime">,
  { delegationId, runId }: StartedRun,
  afterMs = usualMs,
): () => void {
  const { parts, queues, store } = runtime;
  let isStopped = queues === null;
  const look = async (): Promise<void> => {
    const delegation = (await store.readRun(runId))?.delegations.get(delegationId);
    const { worker } = delegation?.share ?? {};
    if (worker === undefined || (worker !== null && (await store.isWorkerAlive(worker)))) return;
    const workers = (await store.workers?.()) ?? [];
    if (workers.some(({ executor, isAlive }) => executor !== null && isAlive)) return;
    const filled = (await queues?.overview())?.queues.filter(({ waiting }) => waiting > 0) ?? [];
    if (isStopped || filled.length === 0) return;
    const names = filled.map(({ name }) => `\`${name}\``).join(", ");
    display.say(`No worker takes from ${names}: start \`${io.program} worker\`.`);
  };
  // A database that is away is told of elsewhere.
  const timer = parts.clock.after(afterMs, () => void look().catch(() => undefined));
  if (isStopped) timer.cancel();
  return () => {
    isStopped = true;
    timer.cancel();
  };
}
