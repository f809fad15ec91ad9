import { type AskWorkers, isWorkedOn, type Liveness } from "./is-worked-on.ts";
import { isPaused, type RunState } from "./run-state.ts";

/** It has not finished, and no process works on it. */
export async function isRunInterrupted(
  store: Liveness,
  run: RunState,
  workers?: AskWorkers,
): Promise<boolean> {
  if (run.outcome !== null) return false;
  return isPaused(run) || !(await isWorkedOn(store, run, workers));
}
