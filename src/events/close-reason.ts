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

export type CloseReason = (typeof closeReasons)[number];

/** How a whole run ended. */
export type RunOutcome = "succeeded" | "failed" | "cancelled";
