/**
 * What a caller did wrong: a code for programs, a sentence for people (what, which, what next).
 * What a delegation meets on its way is not thrown; it is a `Failure` in its log.
 */
export type MandateErrorCode =
  | "usage"
  | "task-required"
  | "unknown-profile"
  | "unknown-agent"
  | "unknown-model"
  | "unknown-delegation"
  | "unknown-run"
  | "unknown-ask"
  | "model-not-configured"
  | "refused-by-policy"
  | "contract-invalid"
  | "contract-newer"
  | "profile-invalid"
  | "config-invalid"
  | "playbook-invalid"
  | "plan-invalid"
  | "already-terminal"
  | "not-resumable"
  | "illegal-transition"
  | "conflict"
  | "fenced"
  | "database-newer"
  | "database-unusable"
  | "storage-full"
  | "closed"
  | "no-kept-work"
  | "ask-closed"
  | "unknown-memory";

export class MandateError extends Error {
  readonly code: MandateErrorCode;

  constructor(code: MandateErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "MandateError";
    this.code = code;
  }
}
