/**
 * Causes: why something stopped, failed, was cancelled, refused or retried, as codes with typed details.
 * Programs decide by codes. The sentences for people and models are made here, and nothing parses a
 * sentence. A `text` comes from a person, a provider, a tool or git.
 */
import { unpriced } from "../contracts/narrow-limits.ts";
import type { ModelFaultKind } from "../ports/model.ts";
import { type CloseReason, closeReasonWords } from "./close-reason.ts";

/** Why a delegation, or one attempt at it, ended without an accepted result. */
export type Cause =
  // Deadlines, in milliseconds. `blocked`: the event loop of its process was blocked.
  | { readonly code: "total_deadline"; readonly ms: number; readonly blocked?: true }
  | { readonly code: "attempt_deadline"; readonly ms: number }
  | { readonly code: "idle"; readonly ms: number }
  | { readonly code: "model_stalled"; readonly token: "first" | "next"; readonly ms: number }

  // Ended from outside: by a person or program, its caller, another process.
  | { readonly code: "cancelled"; readonly text: string }
  | { readonly code: "call_withdrawn" }
  | { readonly code: "token_revoked" }
  | { readonly code: "not_watchable"; readonly text: string }
  | { readonly code: "caller_cancelled" }
  | { readonly code: "caller_interrupted" }
  | { readonly code: "caller_closed" }
  /** The caller was closed from outside, with this reason. */
  | { readonly code: "caller_ended"; readonly closed_as: CloseReason }
  | { readonly code: "watched_closed" }
  | { readonly code: "session_closed" }
  | { readonly code: "program_gone" }
  | { readonly code: "ended_outside" }
  | { readonly code: "already_closed" }
  | { readonly code: "paused" }

  // The machine, the store, the process.
  | { readonly code: "storage_full"; readonly text: string }
  | { readonly code: "store_failed"; readonly text: string }
  | { readonly code: "end_not_written" }
  | { readonly code: "log_conflict" }
  | { readonly code: "owned_elsewhere" }
  | { readonly code: "resumptions_exhausted"; readonly times: number }
  | { readonly code: "working_copy_gone" }
  | { readonly code: "not_recoverable"; readonly text: string }
  | { readonly code: "unexpected_error"; readonly text: string }
  | { readonly code: "contract_invalid"; readonly text: string }
  | { readonly code: "middleware_ended" }
  | { readonly code: "middleware_failed"; readonly text: string }

  // Causes about the model.
  | {
      readonly code: "model_unavailable";
      /** Absent in logs of earlier versions. */
      readonly fault?: ModelFaultKind;
      readonly text: string;
      /** What a person can do about it. */
      readonly remedy?: string;
      /** The provider asked to wait longer than the delegation had left. */
      readonly wait_ms?: number;
    }
  | { readonly code: "model_mismatch"; readonly pinned: readonly string[]; readonly served: string }
  | { readonly code: "window_exceeded"; readonly text: string }
  | { readonly code: "turn_refused"; readonly text: string }
  | { readonly code: "answer_filtered" }
  | { readonly code: "answer_cut" }
  | { readonly code: "answer_empty" }
  | { readonly code: "same_call"; readonly times: number }
  | { readonly code: "denied_streak"; readonly calls: number }
  | { readonly code: "invalid_streak"; readonly calls: number }

  // The budget. Amounts of money in dollars.
  | { readonly code: "model_unpriced"; readonly model: string; readonly cost: number }
  | { readonly code: "budget_overrun" }
  /** The quota of the installation or tenant for one day UTC. */
  | {
      readonly code: "quota_spent";
      readonly scope: string;
      readonly most: number;
      readonly spent: number;
      readonly needed: number;
    }
  | { readonly code: "cost_spent" }
  | { readonly code: "cost_too_small"; readonly needed: number; readonly left: number }
  | { readonly code: "tokens_too_small"; readonly needed: number }
  | { readonly code: "turns_spent"; readonly turns: number }

  // A program that makes its own requests.
  /** `text`: the end of what it wrote to its standard error. */
  | {
      readonly code: "program_failed";
      readonly program: string;
      readonly exit: number | string;
      readonly text?: string;
    }
  /** The program cannot be started, held or understood here. `text`: why, and what a person can do about it. */
  | { readonly code: "program_unusable"; readonly program: string; readonly text: string }
  | {
      readonly code: "model_not_granted";
      readonly model: string;
      readonly granted: readonly string[];
    }
  /** `field`: the part of the request that no contract grants, or that this one does not. */
  | { readonly code: "request_not_granted"; readonly field: string; readonly needs: GrantedBy }

  // The exit rule. `text` is the model's last answer, where the sentence ends with it.
  | { readonly code: "exit_missing"; readonly tools: readonly string[]; readonly text: string }
  | { readonly code: "exit_unanswered"; readonly tools: readonly string[] }
  | { readonly code: "review_missing"; readonly profile: string; readonly text: string }
  | { readonly code: "tools_unaffordable"; readonly tokens: number; readonly text: string }
  | { readonly code: "evidence_missing"; readonly evidence: "tool_calls" | "files" }
  | { readonly code: "schema_unmet"; readonly text: string }
  | { readonly code: "plan_incomplete"; readonly steps: readonly string[] }
  /** `refused`: by a rule or a person; otherwise the plan itself is invalid. */
  | { readonly code: "plan_not_run"; readonly refused: boolean; readonly text: string }
  | { readonly code: "workflow_failed"; readonly refused: boolean; readonly text: string }

  // Causes about the delegation's changes to files.
  | { readonly code: "wrote_outside"; readonly paths: readonly string[]; readonly total: number }
  | { readonly code: "wrote_protected"; readonly paths: readonly string[]; readonly total: number }
  /** `answered`: a person said no; otherwise the question expired. */
  /** `said`: the reason that the person gave. */
  | { readonly code: "merge_not_approved"; readonly answered: boolean; readonly said?: string }
  | { readonly code: "changes_too_many"; readonly files: number }
  | { readonly code: "changes_not_packed"; readonly text: string }
  | { readonly code: "changes_not_merged"; readonly text: string }
  | { readonly code: "changes_refused"; readonly text: string }
  | { readonly code: "merge_conflict"; readonly text: string }
  | { readonly code: "ownership_violation"; readonly text: string }
  | { readonly code: "check_failed"; readonly text: string }
  | { readonly code: "merge_refused"; readonly text: string }

  /** A sentence of an earlier version that matches none of the codes above. */
  | { readonly code: "unclassified"; readonly closed_as: CloseReason; readonly text: string };

/** What lets a part of a request pass. */
type GrantedBy = "network" | "network_without_cost_cap" | "nothing";

/** The reason of a cancel: a text, or a cause where the product itself cancels. */
export type Cancellation = string | CauseOf<"call_withdrawn" | "token_revoked">;

type CauseOf<Code extends Cause["code"]> = Extract<Cause, { readonly code: Code }>;

/** The close reason and the sentence of each cause. A new code does not compile without both. */
const causes: {
  readonly [Code in Cause["code"]]: readonly [
    closesAs: CloseReason | ((cause: CauseOf<Code>) => CloseReason),
    sentence: string | ((cause: CauseOf<Code>) => string),
  ];
} = {
  total_deadline: [
    "timeout",
    ({ blocked, ms }) =>
      blocked
        ? `It took longer than ${ms} ms, and blocked its process.`
        : `It took longer than ${ms} ms.`,
  ],
  attempt_deadline: ["timeout", ({ ms }) => `An attempt took longer than ${ms} ms.`],
  idle: ["timeout", ({ ms }) => `Nothing happened for ${ms} ms.`],
  model_stalled: [
    "timeout",
    ({ ms, token }) =>
      `The model gave no ${token === "first" ? "first" : "further"} token for ${ms} ms.`,
  ],

  cancelled: ["cancelled", textOf],
  call_withdrawn: ["cancelled", "The calling program withdrew its call."],
  token_revoked: ["cancelled", "Its token was revoked."],
  not_watchable: ["cancelled", ({ text }) => `It cannot be watched: ${text}`],
  caller_cancelled: ["cancelled", "Its caller was cancelled."],
  caller_interrupted: ["cancelled", "Its caller was interrupted."],
  caller_closed: ["parent_closed", "Its caller ended before it did."],
  caller_ended: [({ closed_as: reason }) => reason, "Its caller was ended."],
  watched_closed: ["parent_closed", "The session that it watched has ended."],
  session_closed: ["report_accepted", "The session ended."],
  program_gone: ["parent_crash", "The program that held this session has ended."],
  ended_outside: ["cancelled", "It was ended from outside."],
  already_closed: ["cancelled", "It has ended."],
  paused: ["cancelled", "It is paused."],

  storage_full: ["storage_full", textOf],
  store_failed: ["worker_lost", textOf],
  end_not_written: ["worker_lost", "Its end could not be written."],
  log_conflict: ["worker_lost", "Its log contradicts the state of this process."],
  owned_elsewhere: ["worker_lost", "Another process works on it now."],
  resumptions_exhausted: [
    "worker_lost",
    ({ times }) => `It was recovered ${times} times without making progress.`,
  ],
  working_copy_gone: ["worker_lost", "Its working copy is gone."],
  not_recoverable: ["worker_lost", textOf],
  unexpected_error: ["worker_lost", ({ text }) => `An unexpected error ended the work: ${text}`],
  contract_invalid: ["policy_denied", textOf],
  middleware_ended: ["policy_denied", "The delegation was ended by middleware."],
  middleware_failed: ["policy_denied", textOf],

  model_unavailable: [
    "provider_unavailable",
    ({ remedy, text, wait_ms: wait }) =>
      [
        text,
        ...(wait === undefined
          ? []
          : [`The next try is due in ${wait} ms, which is longer than the delegation has left.`]),
        ...(remedy === undefined ? [] : [remedy]),
      ].join(" "),
  ],
  model_mismatch: [
    "model_mismatch",
    ({ pinned, served }) => `The contract pins ${pinned.join(", then ")}, but ${served} answered.`,
  ],
  window_exceeded: [
    "no_progress",
    ({ text }) => `The conversation does not fit the model's window: ${text}`,
  ],
  turn_refused: ["policy_denied", ({ text }) => `The turn was refused: ${text}`],
  answer_filtered: ["truncated", "The provider's content filter ended the answer."],
  answer_cut: ["truncated", "The provider cut the answer at its length limit, twice."],
  answer_empty: ["empty_output", "The model gave an empty answer, twice."],
  same_call: ["no_progress", ({ times }) => `It made the same call ${times} times in a row.`],
  denied_streak: [
    "policy_denied",
    ({ calls }) => `${calls} calls in a row were refused by the contract.`,
  ],
  invalid_streak: [
    "invalid_model_output",
    ({ calls }) => `${calls} calls in a row were unknown or malformed.`,
  ],

  model_unpriced: ["budget_exhausted", ({ cost, model }) => unpriced(model, cost)],
  budget_overrun: [
    "budget_exhausted",
    "The provider reported more tokens than were reserved, so no further request is sent, and there is no answer yet.",
  ],
  quota_spent: [
    "budget_exhausted",
    ({ most, needed, scope, spent }) =>
      `A single answer may cost ${dollars(needed)} here, and ${dollars(spent)} of the ${dollars(most)} a day of the limit "${scope}" are spent. Resume it tomorrow (UTC), or raise the limit: mandate limits.`,
  ],
  cost_spent: ["budget_exhausted", "Its cost cap is spent, and there is no answer yet."],
  cost_too_small: [
    "budget_exhausted",
    ({ left, needed }) =>
      `A single answer may cost ${dollars(needed)} here, and ${dollars(left)} are left of its cost cap.`,
  ],
  tokens_too_small: [
    "budget_exhausted",
    ({ needed }) =>
      `The budget is too small for a single answer, which may take ${needed} tokens here.`,
  ],
  turns_spent: [
    "budget_exhausted",
    ({ turns }) => `Its contract allows ${turns} requests to models, and all were made.`,
  ],

  program_failed: [
    "exit_rule_unmet",
    ({ exit, program, text }) => {
      const how = typeof exit === "number" ? `exited with code ${exit}` : `was ended by ${exit}`;
      return text === undefined ? `${program} ${how}.` : `${program} ${how}: ${text}`;
    },
  ],
  program_unusable: [
    "exit_rule_unmet",
    ({ program, text }) => `${program} cannot work here: ${text}`,
  ],
  model_not_granted: [
    "policy_denied",
    ({ granted, model }) =>
      `The model ${JSON.stringify(model)} is not granted here. Granted: ${firstNames(granted) || "none"}.`,
  ],
  request_not_granted: [
    "policy_denied",
    ({ field, needs }) => `${field} is not granted: ${grantedBy[needs]}`,
  ],

  exit_missing: [
    "exit_rule_unmet",
    ({ text, tools }) => `It ended without calling ${tools.join(" or ")}. It said last: ${text}`,
  ],
  exit_unanswered: [
    "exit_rule_unmet",
    ({ tools }) =>
      `It stopped without calling ${tools.join(" or ")}, and no person said how to continue.`,
  ],
  review_missing: [
    "exit_rule_unmet",
    ({ profile, text }) =>
      `Its output must be approved by "${profile}", and was not submitted for review. It said last: ${text}`,
  ],
  tools_unaffordable: [
    "budget_exhausted",
    ({ text, tokens }) =>
      `Its contract requires work with tools, for which a budget of ${tokens} tokens has no room: give it more. It said last: ${text}`,
  ],
  evidence_missing: [
    "exit_rule_unmet",
    ({ evidence }) =>
      evidence === "files"
        ? "The contract requires changed files as evidence, and nothing was changed."
        : "The contract requires evidence, and no tool call was completed.",
  ],
  schema_unmet: [
    "invalid_model_output",
    ({ text }) => `The result does not match the requested schema, after one repair: ${text}`,
  ],
  plan_incomplete: [
    "exit_rule_unmet",
    ({ steps }) => `Steps of the plan that were not completed: ${firstNames(steps)}.`,
  ],
  plan_not_run: [({ refused }) => (refused ? "policy_denied" : "invalid_model_output"), textOf],
  workflow_failed: [({ refused }) => (refused ? "policy_denied" : "exit_rule_unmet"), textOf],

  wrote_outside: [
    "policy_denied",
    (cause) =>
      `It changed ${pathsIn(cause)}, where its contract does not let it write. None of its changes were merged.`,
  ],
  wrote_protected: [
    "policy_denied",
    (cause) =>
      `It changed ${pathsIn(cause)}, which is a protected path. None of its changes were merged.`,
  ],
  merge_not_approved: [
    "policy_denied",
    ({ answered, said }) =>
      answered
        ? `A person rejected the merge of its changes.${describeSaid(said)}`
        : "No person approved the merge of its changes in time.",
  ],
  changes_too_many: [
    "policy_denied",
    ({ files }) =>
      `A person has to approve its changes, and there are too many to show (${files} files).`,
  ],
  changes_not_packed: [
    "merge_interrupted",
    ({ text }) => `Its changes could not be packed: ${text}`,
  ],
  changes_not_merged: [
    "merge_interrupted",
    ({ text }) => `Its changes could not be merged: ${text}`,
  ],
  changes_refused: ["policy_denied", textOf],
  merge_conflict: ["merge_conflict", textOf],
  ownership_violation: ["ownership_violation", textOf],
  check_failed: ["exit_rule_unmet", textOf],
  merge_refused: ["merge_interrupted", textOf],

  unclassified: [({ closed_as: reason }) => reason, textOf],
};

const grantedBy: Readonly<Record<GrantedBy, string>> = {
  network: "it reaches the network through the provider, and the contract grants no network.",
  network_without_cost_cap:
    "the provider bills it in addition to tokens, so no cost cap can hold it.",
  nothing: "its cost or its effect cannot be held by a contract.",
};

/**
 * The close reason that follows from a cause.
 *
 * @example closeReasonOf({ code: "idle", ms: 5000 }) // "timeout"
 */
export function closeReasonOf(cause: Cause): CloseReason {
  const [closesAs] = entryOf(cause);
  return typeof closesAs === "string" ? closesAs : closesAs(cause);
}

/** A cause in a few words, for lists and headings. */
export function labelOfCause(cause: Cause): string {
  return cause.code === "model_unavailable" && cause.fault !== undefined
    ? faultWords[cause.fault]
    : closeReasonWords[closeReasonOf(cause)];
}

/** How a closed delegation ended, in a few words. */
export function labelOfEnd(end: {
  readonly closeReason: CloseReason;
  readonly failure: { readonly cause: Cause } | null;
}): string {
  const { closeReason, failure } = end;
  return failure?.cause.code === "model_unavailable"
    ? labelOfCause(failure.cause)
    : closeReasonWords[closeReason];
}

const faultWords: Readonly<Record<ModelFaultKind, string>> = {
  "rate-limited": "rate limit",
  "spend-cap": "account limit reached",
  overloaded: "provider overloaded",
  connection: "connection lost",
  "context-overflow": "conversation too long",
  unauthorized: "API key refused",
  "unknown-model": "unknown model",
  "wrong-address": "no model at this address",
  unreachable: "server not reachable",
  unreadable: "unreadable answer",
  rejected: "request rejected",
};

/**
 * The sentence of a cause. No code may parse it.
 *
 * @example describeCause(event.payload.cause) // the sentence for people and models
 */
export function describeCause(cause: Cause): string {
  const [, sentence] = entryOf(cause);
  return typeof sentence === "string" ? sentence : sentence(cause);
}

/** Whether a code is that of a delegation's cause. */
export function isCauseCode(code: string): boolean {
  return Object.hasOwn(causes, code);
}

/** The table is total over the union, but the compiler cannot pair a code with its details. */
function entryOf({ code }: Cause): readonly [Table<CloseReason>, Table<string>] {
  // A stored code may come from a later version.
  const entry = Object.hasOwn(causes, code) ? causes[code] : (["worker_lost", code] as const);
  return entry as readonly [Table<CloseReason>, Table<string>];
}

type Table<Value extends string> = Value | ((cause: Cause) => Value);

/** Why a call failed, or has no result. */
export type CallCause =
  /** The event contains the tool's own message. */
  | { readonly code: "tool_error" }
  /** The event contains the tool's own message: a person did not consent. */
  | { readonly code: "not_approved" }
  /** The delegation was closed while the call ran. */
  | { readonly code: "delegation_closed" }
  | { readonly code: "tool_deadline"; readonly tool: string; readonly ms: number }
  /** The process died while the call ran, and this rule forbids to repeat it. */
  | { readonly code: "call_interrupted"; readonly rule: string; readonly text: string };

/** `isUnknown`: the call may have had an effect. Only where a delegation was closed. */
export function describeCallCause(
  cause: Exclude<CallCause, { code: "tool_error" | "not_approved" }>,
  { isUnknown = true, tool }: { readonly tool: string; readonly isUnknown?: boolean },
): string {
  switch (cause.code) {
    case "delegation_closed":
      return isUnknown
        ? "Interrupted: its outcome is unknown."
        : "Interrupted: the delegation ended.";
    case "tool_deadline":
      return `${cause.tool} took longer than ${cause.ms} ms and was stopped.`;
    case "call_interrupted":
      return `The call of ${tool} was interrupted and its outcome is unknown. ${cause.text}`;
    default:
      return cause satisfies never;
  }
}

/** Causes by which a background child is ended on purpose: its failure need not reach its caller. */
export const givenUp: ReadonlySet<string> = new Set<Cause["code"]>([
  "cancelled",
  "caller_interrupted",
]);

function textOf({ text }: { readonly text: string }): string {
  return text;
}

/** The reason of a person's no, after another sentence; empty: they gave none. */
export function describeSaid(said: string | undefined): string {
  return said === undefined ? "" : ` The person says: ${said}`;
}

/** The first ten names of steps, at most. */
export function firstNames(steps: readonly string[]): string {
  return steps.length > 10 ? `${steps.slice(0, 10).join(", ")}, …` : steps.join(", ");
}

function pathsIn({ paths, total }: CauseOf<"wrote_outside" | "wrote_protected">): string {
  const shown = paths.slice(0, 5).map((path) => `"${path}"`);
  const more = total - shown.length;
  return more > 0 ? `${shown.join(", ")} and ${more} more` : shown.join(", ");
}

/** Four digits after the point, or nine below a cent. */
function dollars(amount: number): string {
  const digits = amount >= 0.01 ? 4 : 9;
  return `$${amount.toFixed(digits).replace(/(\.\d{2,}?)0+$/, "$1")}`;
}
