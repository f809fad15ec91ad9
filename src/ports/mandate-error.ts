/**
 * An error of the caller: a code for programs and a message for people, which says what happened and
 * what to do next. A failure of a delegation is not thrown; it is a `Failure` in its log.
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
  | "workflow-invalid"
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

/**
 * What a caller did wrong: a code for programs, and a sentence for people.
 *
 * @example if (error instanceof MandateError && error.code === "unknown-profile") showProfiles();
 */
export class MandateError extends Error {
  readonly code: MandateErrorCode;

  constructor(code: MandateErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "MandateError";
    this.code = code;
  }
}

/** Why a delegation has no changes that could be shown, merged or discarded. */
export type NoWorkReason =
  | "read-only"
  | "in-place"
  | "not-started"
  | "unchanged"
  | "merged"
  | "discarded"
  | "lost";

const sentences: Record<NoWorkReason, string> = {
  "read-only": "could not write: its contract lets it change nothing.",
  "in-place":
    "worked in its caller's folder and had no copy of its own. What it changed is there already; the evidence of its result names the files.",
  "not-started": "has no working copy yet. Ask again when it has started.",
  unchanged: "left no changes behind.",
  merged: "has no working copy any more: its changes were merged.",
  discarded: "has no working copy any more: it was discarded.",
  lost: "has no working copy any more, and the diff in the log cannot be read: its file among the artifacts is gone.",
};

/** Thrown when a delegation has no kept changes. */
export class NoKeptWork extends MandateError {
  readonly delegationId: string;
  readonly reason: NoWorkReason;

  constructor(delegationId: string, reason: NoWorkReason) {
    super("no-kept-work", `Delegation ${delegationId} ${sentences[reason]}`);
    this.name = "NoKeptWork";
    this.delegationId = delegationId;
    this.reason = reason;
  }
}

/**
 * Thrown by a tool whose input policy does not allow. The gate turns it into a denial that the model
 * reads, so the message says what to do instead. `rule` is recorded in `agent.tool_denied`.
 */
export class CallDenied<Rule extends string = string> extends Error {
  readonly rule: Rule;

  constructor(rule: Rule, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CallDenied";
    this.rule = rule;
  }
}

/** For `catch` of a change of records: undefined when another writer was faster. */
export function unlessConflict(error: unknown): undefined {
  if ((error as { readonly code?: unknown }).code !== "conflict") throw error;
}
