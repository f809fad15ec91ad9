import { type Cause, describeCause, firstNames, isCauseCode, labelOfCause } from "./cause.ts";

/** A result that arrived after its delegation or caller had ended. */
export type LateCause =
  | { readonly code: "late_answer" }
  | { readonly code: "late_tool_result"; readonly tool: string }
  | { readonly code: "merged_before_end" }
  | { readonly code: "caller_was_interrupted" };

export function describeLateCause(cause: LateCause): string {
  switch (cause.code) {
    case "late_answer":
      return "an answer of its model came too late and was discarded";
    case "late_tool_result":
      return `the result of ${cause.tool} came too late and was discarded`;
    case "merged_before_end":
      return "its changes had been merged when it was ended";
    case "caller_was_interrupted":
      return "its caller had been interrupted when it ended: its result is kept, not delivered";
    default:
      return cause satisfies never;
  }
}

/** Why a run finished: its root's cause, or incomplete work below a completed root. */
export type RunCause =
  | Cause
  | { readonly code: "all_closed" }
  | { readonly code: "steps_open"; readonly steps: readonly string[] }
  | { readonly code: "failures_undelivered"; readonly delegations: readonly string[] }
  | { readonly code: "child_not_started"; readonly text: string };

/** Whether the cause of a run is that of its root. */
export function isOfRoot(cause: RunCause): cause is Cause {
  return isCauseCode(cause.code);
}

export function describeRunCause(cause: RunCause): string {
  switch (cause.code) {
    case "all_closed":
      return "every delegation is closed";
    case "steps_open":
      return `steps of the plan that were not completed: ${firstNames(cause.steps)}`;
    case "failures_undelivered":
      return `the failure of ${cause.delegations.join(", ")} never reached its caller`;
    case "child_not_started":
      return `a sub-agent could not be started: ${cause.text}`;
    default:
      return `${labelOfCause(cause)}: ${describeCause(cause)}`;
  }
}
