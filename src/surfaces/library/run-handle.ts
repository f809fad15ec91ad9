import type { DelegationResult, Resumed, ResumedRun, StartedRun } from "../../ports/delegator.ts";
import type { ResumedRunHandle, ResumeHandle, RunHandle, RunResult } from "./mandate.ts";

/** A run as programs hold it. Answer and result are asked for when the program does: it may leave first. */
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
    get answer() {
      return started.answer;
    },
    get result() {
      return result();
    },
    get outcome() {
      return result().then(({ outcome }) => outcome);
    },
  };
}

/** A handle of the first run, with those of all. */
export function resumeHandle(resumed: Resumed): ResumeHandle {
  const { refused, runs } = resumed;
  return Object.assign(resumedHandle(resumed), { runs: runs.map(resumedHandle), refused });
}

function resumedHandle(run: ResumedRun): ResumedRunHandle {
  const { agents, as, from } = run;
  return Object.assign(runHandle(run), { as, from, agents });
}

/** The end of a run that could not be written has no outcome in the log: it did not succeed. */
function withOutcome(result: DelegationResult): RunResult {
  const unwritten = result.status === "cancelled" ? "cancelled" : "failed";
  return { ...result, outcome: result.outcome ?? unwritten };
}
