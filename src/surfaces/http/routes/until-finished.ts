import type { Clock } from "../../../ports/clock.ts";
import type { Store } from "../../../ports/store.ts";

/** Waits until the run has finished, the time is over, or nobody waits any more. */
export function untilFinished(
  store: Store,
  runId: string,
  waitMs: number,
  signal: AbortSignal,
  clock: Clock,
): Promise<void> {
  if (waitMs === 0 || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = clock.after(waitMs, end);
    const unsubscribe = store.subscribe((events) => {
      if (events.some(({ run_id, type }) => run_id === runId && type === "run.finished")) end();
    });
    signal.addEventListener("abort", end, { once: true });
    // It may have finished before anybody listened.
    store.readRun(runId).then((run) => {
      if (run === undefined || run.outcome !== null) end();
    }, end);

    function end(): void {
      timer.cancel();
      unsubscribe();
      signal.removeEventListener("abort", end);
      resolve();
    }
  });
}
