/**
 * Events of earlier versions, as this version writes them. Those versions recorded causes as
 * sentences only, and of a tool only its name; this is the only file that reads such sentences and
 * knows what tools of those names did. Stored bytes and hashes stay as they are: every reader of
 * stored rows applies this after it has taken the hash.
 */
import { includes, type Selection } from "../contracts/selection.ts";
import type { CallCause, Cause } from "./cause.ts";
import { type CloseReason, closeReasons } from "./close-reason.ts";
import type { EventPayloads, NewEvent, StartedTool } from "./event.ts";
import type { InboxWords } from "./inbox-change.ts";
import type { Reminder } from "./reminder.ts";
import type { LateCause, RunCause } from "./run-cause.ts";

/** Stored items of the inbox keep the words of the version that wrote them. */
export const earlierInboxWords: InboxWords = {
  queued: "A goal waits",
  run: "The run",
  reason: (reason) => reason,
  hasRoots: true,
};

/** Returns the same event when nothing is missing in it. Never throws: a payload may be damaged. */
export function upcast<Event extends Pick<NewEvent, "type" | "payload">>(event: Event): Event {
  const translate = own(translations, event.type);
  const { payload } = event as { readonly payload: unknown };
  if (translate === undefined || typeof payload !== "object" || payload === null) return event;
  // Every event of this version has it, if its type has a translation.
  if ((event.type === "agent.tool_started" ? "changes" : "cause") in payload) return event;
  const added = (translate as (payload: object) => object | undefined)(payload);
  return added === undefined ? event : { ...event, payload: { ...payload, ...added } };
}

/** A stored word may be any word. */
function own<Value>(table: { readonly [Key in string]?: Value }, key: string): Value | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

type Added<Type extends keyof EventPayloads> = Partial<EventPayloads[Type]> | undefined;

/** For each type, the fields that an event of an earlier version lacks. */
const translations: {
  readonly [Type in keyof EventPayloads]?: (payload: EventPayloads[Type]) => Added<Type>;
} = {
  "agent.subagent_failed": ({ code, error }) => ({ cause: causeOf(code, textOf(error)) }),
  "agent.retried": ({ reason, what }) => retryOf(what, textOf(reason)),
  "agent.tool_started": ({ tool }) => startedBefore(tool),
  "agent.tool_failed": ({ error }) => ({ cause: failedCallOf(textOf(error)) }),
  "agent.tool_outcome_unknown": ({ error }) => ({ cause: unknownCallOf(textOf(error)) }),
  "agent.interjected": ({ from, message, severity }) => {
    // What servers report while they run has no cause.
    const cause = severity === "warn" ? reminderOf(from, textOf(message)) : undefined;
    return cause && { cause };
  },
  "agent.interrupted": ({ closes_as: code, reason }) => ({ cause: causeOf(code, textOf(reason)) }),
  "run.late_result": ({ detail }) => ({ cause: lateCauseOf(textOf(detail)) }),
  "run.finished": ({ outcome, reason }) => finishOf(outcome, textOf(reason)),
};

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A sentence of an earlier version: what it has to match, and the cause that it stands for. */
type Sentence<Result> = readonly [pattern: RegExp, made: (...found: string[]) => Result];

const ofAnyReason: readonly Sentence<(code: CloseReason) => Cause>[] = [
  [/^Its caller was ended\.$/, () => (code) => ({ code: "caller_ended", closed_as: code })],
];

const byReason: { readonly [Code in CloseReason]?: readonly Sentence<Cause>[] } = {
  timeout: [
    [/^It took longer than (\d+) ms\.$/, (ms) => ({ code: "total_deadline", ms: Number(ms) })],
    [
      /^It took longer than (\d+) ms, and kept its process from doing anything else\.$/,
      (ms) => ({ code: "total_deadline", ms: Number(ms), blocked: true }),
    ],
    [
      /^An attempt took longer than (\d+) ms\.$/,
      (ms) => ({ code: "attempt_deadline", ms: Number(ms) }),
    ],
    [/^Nothing happened for (\d+) ms\.$/, (ms) => ({ code: "idle", ms: Number(ms) })],
    [
      /^The model gave no (first|further) token for (\d+) ms\.$/,
      (token, ms) => ({
        code: "model_stalled",
        token: token === "first" ? "first" : "next",
        ms: Number(ms),
      }),
    ],
  ],
  cancelled: [
    [/^Its caller was cancelled\.$/, () => ({ code: "caller_cancelled" })],
    [/^Its caller was interrupted\.$/, () => ({ code: "caller_interrupted" })],
    [/^The program that asked for it took its call back\.$/, () => ({ code: "call_withdrawn" })],
    [/^It cannot be watched: (.*)$/s, (text) => ({ code: "not_watchable", text })],
    [/^(.*)$/s, (text) => ({ code: "cancelled", text })],
  ],
  parent_closed: [
    [/^The session that it watched is over\.$/, () => ({ code: "watched_closed" })],
    [/^/, () => ({ code: "caller_closed" })],
  ],
  report_accepted: [[/^The session ended\.$/, () => ({ code: "session_closed" })]],
  parent_crash: [
    [/^The program that held this session is gone\.$/, () => ({ code: "program_gone" })],
  ],
  storage_full: [[/^(.*)$/s, (text) => ({ code: "storage_full", text })]],
  worker_lost: [
    [/^Its working copy is gone\.$/, () => ({ code: "working_copy_gone" })],
    [
      /^It was taken up (\d+) times without getting any further\.$/,
      (times) => ({ code: "resumptions_exhausted", times: Number(times) }),
    ],
    [/^An unexpected error ended the work: (.*)$/s, (text) => ({ code: "unexpected_error", text })],
    [/^Its end could not be written\.$/, () => ({ code: "end_not_written" })],
    [/^Its log and this process could not agree\.$/, () => ({ code: "log_conflict" })],
  ],
  policy_denied: [
    [
      /^(\d+) calls in a row were refused by the contract\.$/,
      (calls) => ({ code: "denied_streak", calls: Number(calls) }),
    ],
    [/^The turn was refused: (.*)$/s, (text) => ({ code: "turn_refused", text })],
    [
      /^It changed (.*), where its contract does not let it write\./s,
      (names) => ({ code: "wrote_outside", ...pathsIn(names) }),
    ],
    [
      /^It changed (.*), which is configuration that the next start obeys\./s,
      (names) => ({ code: "wrote_protected", ...pathsIn(names) }),
    ],
    [/^(It changed .*)$/s, (text) => ({ code: "changes_refused", text })],
    [/^(The plan was not run\. .*)$/s, (text) => ({ code: "plan_not_run", refused: true, text })],
    [
      /^A person did not want its changes merged\.$/,
      () => ({ code: "merge_not_approved", answered: true }),
    ],
    [
      /^Nobody said in time that its changes may be merged\.$/,
      () => ({ code: "merge_not_approved", answered: false }),
    ],
    [
      /^A person has to approve its changes, and even their names are too many to be shown \((\d+) files\)\.$/,
      (files) => ({ code: "changes_too_many", files: Number(files) }),
    ],
    [/^The delegation was ended by middleware\.$/, () => ({ code: "middleware_ended" })],
  ],
  provider_unavailable: [
    [
      /^(.*) It asks to wait ([\d.]+) ms, which is longer than the delegation has left\.$/s,
      (text, wait) => ({ code: "model_unavailable", text, wait_ms: Number(wait) }),
    ],
    [/^(.*)$/s, (text) => ({ code: "model_unavailable", text })],
  ],
  budget_exhausted: [
    [
      /^The price of the model "(.*?)" is not known, so the cost cap of \$([\d.e+-]+) cannot hold it\./,
      (model, cost) => ({ code: "model_unpriced", model, cost: Number(cost) }),
    ],
    [
      /^The provider reported more tokens than the request allowed/,
      () => ({ code: "budget_overrun" }),
    ],
    [/^What it may cost is spent, and there is no answer yet\.$/, () => ({ code: "cost_spent" })],
    [
      /^A single answer may cost \$([\d.]+) here, and \$([\d.]+) are left of what it may cost\.$/,
      (needed, left) => ({ code: "cost_too_small", needed: Number(needed), left: Number(left) }),
    ],
    [
      /^The budget is too small for a single answer, which may take (\d+) tokens here\.$/,
      (needed) => ({ code: "tokens_too_small", needed: Number(needed) }),
    ],
  ],
  no_progress: [
    [
      /^The conversation does not fit the model's window: (.*)$/s,
      (text) => ({ code: "window_exceeded", text }),
    ],
    [
      /^It made the same call (\d+) times in a row\.$/,
      (times) => ({ code: "same_call", times: Number(times) }),
    ],
  ],
  model_mismatch: [
    [
      /^The contract pins (.*), but (.*) answered\.$/s,
      (pinned, served) => ({ code: "model_mismatch", pinned: pinned.split(", then "), served }),
    ],
  ],
  truncated: [
    [/^The provider's filter ended the answer\.$/, () => ({ code: "answer_filtered" })],
    [/^The provider cut the answer at its length limit, twice\.$/, () => ({ code: "answer_cut" })],
  ],
  empty_output: [[/^The model answered with nothing, twice\.$/, () => ({ code: "answer_empty" })]],
  invalid_model_output: [
    [
      /^(\d+) calls in a row were unknown or malformed\.$/,
      (calls) => ({ code: "invalid_streak", calls: Number(calls) }),
    ],
    [
      /^The result does not fit the schema it was asked for, after one repair: (.*)$/s,
      (text) => ({ code: "schema_unmet", text }),
    ],
    [/^(.*)$/s, (text) => ({ code: "plan_not_run", refused: false, text })],
  ],
  exit_rule_unmet: [
    [
      /^It ended without calling (.+?)\. It said last: (.*)$/s,
      (tools, text) => ({ code: "exit_missing", tools: tools.split(" or "), text }),
    ],
    [
      /^It stopped without calling (.+), and nobody said what it shall do\.$/,
      (tools) => ({ code: "exit_unanswered", tools: tools.split(" or ") }),
    ],
    [
      /^What it makes has to be approved by "(.+?)", and was not handed in for that\. It said last: (.*)$/s,
      (profile, text) => ({ code: "review_missing", profile, text }),
    ],
    [
      /^The contract asks for evidence, and not a single tool call was completed\.$/,
      () => ({ code: "evidence_missing", evidence: "tool_calls" }),
    ],
    [
      /^The contract asks for changed files as evidence, and nothing was changed\.$/,
      () => ({ code: "evidence_missing", evidence: "files" }),
    ],
    [
      /^Not completed of the plan: (.*)\.(?:\n|$)/,
      (steps) => ({ code: "plan_incomplete", steps: steps.split(", ") }),
    ],
    [/^(.*)$/s, (text) => ({ code: "check_failed", text })],
  ],
  merge_interrupted: [
    [
      /^Its changes could not be handed in: (.*)$/s,
      (text) => ({ code: "changes_not_packed", text }),
    ],
    [
      /^Its changes could not be taken over: (.*)$/s,
      (text) => ({ code: "changes_not_merged", text }),
    ],
    [/^(.*)$/s, (text) => ({ code: "merge_refused", text })],
  ],
  merge_conflict: [[/^(.*)$/s, (text) => ({ code: "merge_conflict", text })]],
  ownership_violation: [[/^(.*)$/s, (text) => ({ code: "ownership_violation", text })]],
};

function causeOf(code: CloseReason, text: string): Cause {
  return (
    first(ofAnyReason, text)?.(code) ??
    first(own(byReason, code) ?? [], text) ?? { code: "unclassified", closed_as: code, text }
  );
}

function first<Result>(sentences: readonly Sentence<Result>[], text: string): Result | undefined {
  for (const [pattern, made] of sentences) {
    const found = pattern.exec(text);
    if (found) return made(...found.slice(1));
  }
  return undefined;
}

/** `"a", "b" and 3 more` */
function pathsIn(names: string): { paths: readonly string[]; total: number } {
  const [, listed = names, more = "0"] = /^(.*) and (\d+) more$/s.exec(names) ?? [];
  const paths = listed.replace(/^"|"$/g, "").split('", "');
  return { paths, total: paths.length + Number(more) };
}

function retryOf(
  what: EventPayloads["agent.retried"]["what"],
  reason: string,
): Added<"agent.retried"> {
  if (what === "attempt") {
    const [, code = "", text = ""] = /^(\w+): (.*)$/s.exec(reason) ?? [];
    return { cause: isReason(code) ? causeOf(code, text) : faultOf(reason) };
  }
  const [, complaint = reason, next] =
    /cannot be had \((.*)\)\. (\S+) is asked in its place\.$/s.exec(reason) ?? [];
  return { cause: faultOf(complaint), ...(what === "model" && next !== undefined && { next }) };
}

/** A fault of a request did not say whether the model was late: its sentence did. */
function faultOf(text: string): Cause {
  return first(byReason.timeout ?? [], text) ?? { code: "model_unavailable", text };
}

function isReason(word: string): word is CloseReason {
  return (closeReasons as readonly string[]).includes(word);
}

const failedCalls: readonly Sentence<CallCause>[] = [
  [/^Interrupted: the delegation ended\.$/, () => ({ code: "delegation_closed" })],
  [
    /^Error: (\S+) took longer than (\d+) ms and was stopped\.$/,
    (tool, ms) => ({ code: "tool_deadline", tool, ms: Number(ms) }),
  ],
  [
    /^Error: (?:nobody approved the plan in time, so|the plan was not approved, and) nothing was started\./,
    () => ({ code: "not_approved" }),
  ],
];

function failedCallOf(error: string): CallCause {
  return first(failedCalls, error) ?? { code: "tool_error" };
}

const notRepeated = "Look at what it did before you repeat it.";

function unknownCallOf(error: string): CallCause {
  const [, text] = /its outcome is unknown\. (.*)$/s.exec(error) ?? [];
  if (text === undefined) return { code: "delegation_closed" };
  const rule = text === notRepeated ? "not_repeated" : "unknown";
  return { code: "call_interrupted", rule, text };
}

const reminders: { readonly [From in string]?: readonly Sentence<Reminder>[] } = {
  runtime: [
    [/^Your answer was empty\. /, () => ({ code: "answer_empty" })],
    [/^Your answer was cut at the length limit\. /, () => ({ code: "answer_cut" })],
    [
      /^You may stop only by calling (.+)\. Go on working, or call it\.$/,
      (tools) => ({ code: "exit_required", tools: tools.split(" or ") }),
    ],
  ],
  repair: [
    [
      /^Your result does not fit the schema it was asked for: (.*) Give it again as JSON only\.$/s,
      (text) => ({ code: "schema_unmet", text }),
    ],
  ],
  mcp: [
    [
      /^(.*) Its tools are not available to you\.$/s,
      (text) => ({ code: "server_unavailable", text }),
    ],
  ],
};

function reminderOf(from: string, message: string): Reminder | undefined {
  return first(own(reminders, from) ?? [], message);
}

const lateSentences: readonly Sentence<LateCause>[] = [
  [
    /^the result of (.*) came too late and was discarded$/s,
    (tool) => ({ code: "late_tool_result", tool }),
  ],
  [/^its changes had been merged when it was ended$/, () => ({ code: "merged_before_end" })],
  [/^its caller had been interrupted when it ended/, () => ({ code: "caller_was_interrupted" })],
];

function lateCauseOf(detail: string): LateCause {
  return first(lateSentences, detail) ?? { code: "late_answer" };
}

const runSentences: readonly Sentence<RunCause>[] = [
  [
    /^not completed of the plan: (.*)$/,
    (steps) => ({ code: "steps_open", steps: steps.split(", ") }),
  ],
  [
    /^the failure of (.*) never reached its caller$/,
    (ids) => ({ code: "failures_undelivered", delegations: ids.split(", ") }),
  ],
  [/^a sub-agent could not be started: (.*)$/s, (text) => ({ code: "child_not_started", text })],
];

/** A cancelled run was recorded as failed; the reason began with the close reason of its root. */
function finishOf(
  outcome: EventPayloads["run.finished"]["outcome"],
  reason: string,
): Added<"run.finished"> {
  if (outcome === "succeeded") return { cause: { code: "all_closed" } };
  const undone = first(runSentences, reason);
  if (undone !== undefined) return { cause: undone };
  const [, code = "", text = ""] = /^(\w+): (.*)$/s.exec(reason) ?? [];
  if (!isReason(code)) return { cause: { code: "all_closed" } };
  return { outcome: code === "cancelled" ? "cancelled" : outcome, cause: causeOf(code, text) };
}

const looking: StartedTool = { changes: "none" };
const joining: StartedTool = { changes: "none", joins: true };

/** The tools of earlier versions, as far as those versions knew them by name. */
const earlierTools: { readonly [Name in string]?: StartedTool } = {
  ...{ read_file: looking, list_files: looking, glob: looking, grep: looking },
  ...{ document_query: looking, load_skill: looking, web_fetch: looking, web_search: looking },
  write_file: { changes: "reported" },
  edit_file: { changes: "reported" },
  ...{ ask_user: looking, complete_task: looking, submit_for_review: looking },
  ...{ spawn: looking, delegate_task: joining, delegate_to_agent: joining },
  spawn_subagent: { changes: "any", joins: true },
  request_review: { changes: "any", joins: true },
  submit_plan: { changes: "any", joins: true },
  perform_workflow: { changes: "any", joins: true },
  spawn_await: { changes: "none", joins: true, polls: "results" },
  get_delegation_result: { changes: "none", polls: "results" },
  list_sub_agents: { changes: "none", polls: "state" },
  ...{ cancel_delegation: looking, peek_result: looking },
  ...{ search_result: looking, slice_result: looking },
  memory_save: { changes: "any", saves_memory: true },
};

function startedBefore(tool: unknown): StartedTool {
  return (typeof tool === "string" ? own(earlierTools, tool) : undefined) ?? { changes: "any" };
}

/** Whether the holder of a contract that does not say it could save memories, by its tools. */
export function couldSaveMemories(tools: Selection): boolean {
  return includes(tools, "memory_save");
}

/** The memory that a call saved, for calls that were recorded without a reference to it. */
export function memoryNamedIn(output: string): string | undefined {
  return /^Saved as (m[0-9a-f]+)[,.]/.exec(output)?.[1];
}
