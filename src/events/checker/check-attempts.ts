import type { CheckedRun, Known, RunCheck } from "./checked-run.ts";

/** I3: attempts are numbered from one on, and are no more than the contract allows. */
export function checkAttempts({ report }: CheckedRun): RunCheck {
  const attempts = new Map<Known, number>();
  return {
    see(event, delegation) {
      if (event.type !== "agent.subagent_attempt" || delegation === undefined) return;
      const where = { delegationId: delegation.id, seq: event.seq };
      const { attempt, of } = event.payload;
      const expected = (attempts.get(delegation) ?? 0) + 1;
      attempts.set(delegation, attempt);
      if (attempt !== expected) {
        report("I3", `Attempt ${attempt} stands where attempt ${expected} belongs.`, where);
      }
      const allowed = delegation.contract && delegation.contract.execution.max_retries + 1;
      if (allowed !== undefined && (attempt > allowed || of !== allowed)) {
        report("I3", `Attempt ${attempt} of ${of}: the contract allows ${allowed}.`, where);
      }
    },
  };
}
