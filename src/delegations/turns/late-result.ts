import { describeLateCause, type LateCause } from "../../events/cause.ts";
import type { NewEvent } from "../../events/event.ts";
import type { LiveDelegation } from "../live-delegation.ts";

/**
 * Something that a delegation no longer waits for came after all. It changes nothing; that it came
 * is noted on the run, since the delegation itself may be closed.
 */
export function noteLateResult(agent: LiveDelegation, cause: LateCause): void {
  const { run } = agent;
  if (run.finished || run.lost) return;
  // The run may end at this very moment; then there is nowhere left to note it.
  void run.append([lateResult(agent, cause)]).catch(() => undefined);
}

export function lateResult({ id }: LiveDelegation, cause: LateCause): NewEvent<"run.late_result"> {
  const detail = describeLateCause(cause);
  return { type: "run.late_result", payload: { sub_agent_id: id, cause, detail } };
}
