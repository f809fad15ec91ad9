/** Why a delegation ended. The list is fixed, so that surfaces can handle every reason. */
export const closeReasons = [
  "integrated",
  "report_accepted",
  "merge_interrupted",
  "timeout",
  "cancelled",
  "budget_exhausted",
  "policy_denied",
  "merge_conflict",
  "ownership_violation",
  "model_mismatch",
  "empty_output",
  "truncated",
  "invalid_model_output",
  "no_progress",
  "exit_rule_unmet",
  "provider_unavailable",
  "worker_lost",
  "parent_crash",
  "storage_full",
  "spawn_failed",
  "parent_closed",
] as const;

/** Close reasons as people say them, after "failed" or alone. */
export const closeReasonWords: Readonly<Record<(typeof closeReasons)[number], string>> = {
  integrated: "changes merged",
  report_accepted: "report accepted",
  merge_interrupted: "merge interrupted",
  timeout: "timed out",
  cancelled: "cancelled",
  budget_exhausted: "budget used up",
  policy_denied: "refused by policy",
  merge_conflict: "merge conflict",
  ownership_violation: "changed files that it does not own",
  model_mismatch: "another model answered",
  empty_output: "empty answer",
  truncated: "answer cut short",
  invalid_model_output: "unusable answer",
  no_progress: "no progress",
  exit_rule_unmet: "exit rule not met",
  provider_unavailable: "model not available",
  worker_lost: "process lost",
  parent_crash: "caller crashed",
  storage_full: "disk full",
  spawn_failed: "could not be started",
  parent_closed: "caller closed",
};

export type CloseReason = (typeof closeReasons)[number];

/** How a whole run ended. */
export type RunOutcome = "succeeded" | "failed" | "cancelled";

/**
 * A status and its reason for people: `cancelled`, `timed out`, `failed (merge conflict)`.
 * `label`: a more exact word for the reason.
 */
export function describeStatus(
  status: string,
  reason: CloseReason,
  label: string = closeReasonWords[reason],
): string {
  return status === reason ? label : `${status} (${label})`;
}
