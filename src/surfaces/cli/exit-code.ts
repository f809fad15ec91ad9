import type { RunOutcome } from "../../events/close-reason.ts";
import type { DelegationResult } from "../../ports/delegator.ts";
import { MandateError, type MandateErrorCode } from "../../ports/mandate-error.ts";

export const exitCode = {
  done: 0,
  failed: 1,
  usage: 2,
  refused: 3,
  interrupted: 130,
} as const;

/** The exit code of every error code. A new error code does not compile without its row. */
const byError: Readonly<Record<MandateErrorCode, number>> = {
  usage: exitCode.usage,
  "task-required": exitCode.usage,
  "unknown-profile": exitCode.usage,
  "unknown-agent": exitCode.usage,
  "unknown-model": exitCode.usage,
  "unknown-delegation": exitCode.usage,
  "unknown-run": exitCode.usage,
  "unknown-ask": exitCode.usage,
  "model-not-configured": exitCode.usage,
  "profile-invalid": exitCode.usage,
  "config-invalid": exitCode.usage,
  "playbook-invalid": exitCode.usage,
  "plan-invalid": exitCode.usage,
  "workflow-invalid": exitCode.usage,
  "refused-by-policy": exitCode.refused,
  "contract-invalid": exitCode.refused,
  "contract-newer": exitCode.refused,
  "already-terminal": exitCode.failed,
  "not-resumable": exitCode.failed,
  "illegal-transition": exitCode.failed,
  conflict: exitCode.failed,
  fenced: exitCode.failed,
  "database-newer": exitCode.failed,
  "database-unusable": exitCode.failed,
  "storage-full": exitCode.failed,
  closed: exitCode.failed,
  "no-kept-work": exitCode.failed,
  "ask-closed": exitCode.failed,
  "unknown-memory": exitCode.usage,
};

export function exitCodeOfError(error: unknown): number {
  return error instanceof MandateError ? byError[error.code] : exitCode.failed;
}

/** `end`: the outcome of the whole run, where this is a run's result. */
export function exitCodeOfResult(result: DelegationResult, end: RunOutcome | null = null): number {
  if (result.status === "completed") {
    return end === null || end === "succeeded" ? exitCode.done : exitCode.failed;
  }
  return result.closeReason === "policy_denied" ? exitCode.refused : exitCode.failed;
}
