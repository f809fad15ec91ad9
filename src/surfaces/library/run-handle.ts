import type { StartedRun } from "../../delegations/start/run-request.ts";
import type { DelegationResult } from "../../ports/delegator.ts";
import type { RunHandle, RunResult } from "./mandate.ts";

/** A run as programs hold it. The result is asked for when the program does: it may leave first. */
export function runHandle(started: StartedRun): RunHandle {
  const { behind, delegationId, runId } = started;
  let known: Promise<RunResult> | undefined;
  const result = (): Promise<RunResult> => {
    known ??= started.result.then(withOutcome);
    return known;
  };
  return {
    runId,
    delegationId,
    ...(behind !== undefined && { behind }),
    get result() {
      return result();
    },
    get outcome() {
      return result().then(({ outcome }) => outcome);
    },
  };
}

/** The end of a run that could not be written has no outcome in the log: it did not succeed. */
function withOutcome(result: DelegationResult): RunResult {
  const unwritten = result.status === "cancelled" ? "cancelled" : "failed";
  return { ...result, outcome: result.outcome ?? unwritten };
}
