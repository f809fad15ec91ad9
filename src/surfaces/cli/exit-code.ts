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

/** Every error code in the language of this surface. A new code does not compile without its row. */
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

/** `end`: how the whole run ended, where it is the result of a run. */
export function exitCodeOfResult(result: DelegationResult, end: RunOutcome | null = null): number {
  if (result.status === "completed") {
    return end === null || end === "succeeded" ? exitCode.done : exitCode.failed;
  }
  return result.closeReason === "policy_denied" ? exitCode.refused : exitCode.failed;
}
