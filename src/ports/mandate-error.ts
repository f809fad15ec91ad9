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

/** Why a delegation has nothing that could be shown, merged or discarded. */
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

/** Thrown where a delegation has no work of its own that is kept anywhere. */
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
 * A tool call that policy does not allow, found while the tool looks at its input. Not a fault: the
 * gate turns it into a denial that the model reads, so the message is a sentence that says what to
 * do instead. `rule` is what `agent.tool_denied` names.
 */
export class CallDenied<Rule extends string = string> extends Error {
  readonly rule: Rule;

  constructor(rule: Rule, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CallDenied";
    this.rule = rule;
  }
}
