import { z } from "zod";
import { describeIssues } from "../agents/documents/describe-problem.ts";
import { type Contract, modelName } from "../contracts/contract.ts";
import type { Cause } from "../events/cause.ts";
import type { ChildName, Reminder } from "../events/reminder.ts";
import { isSameModel } from "../models/candidate-models.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { Transcript, UnjudgedTurn } from "../sessions/transcript.ts";
import { headOf } from "../text.ts";
import { type Ending, failure, retryable } from "./ends/ending.ts";

/** What one loop carries out for a delegation; each is followed by events, and then by the next one. */
export type Command =
  | { readonly do: "ask-model" }
  /** The calls of the latest turn that have no result. */
  | { readonly do: "perform-calls" }
  | { readonly do: "say"; readonly from: string; readonly reminder: Reminder }
  /** A person has to say what to do. */
  | { readonly do: "ask-person"; readonly question: string }
  | { readonly do: "end"; readonly ending: Ending };

export interface Situation {
  readonly contract: Contract;
  readonly transcript: Transcript;
  /** The children that have not closed. */
  readonly running: readonly ChildName[];
}

/** What follows from what the log says of a delegation's work. Pure: the same after a crash. */
export function next({ contract, running, transcript }: Situation): Command {
  const turn = transcript.unjudged;
  if (turn !== null) {
    const verdict = judgeReply(turn, contract, transcript);
    switch (verdict.kind) {
      case "act":
        break;
      case "say":
        return { do: "say", from: "runtime", reminder: verdict.reminder };
      case "ask":
        return { do: "ask-person", question: verdict.question };
      case "fail":
        return end({ kind: "failure", cause: verdict.cause, retry: verdict.retry });
      case "output": {
        const handedIn = { text: verdict.text, byTool: false, isLast: turn.last === true };
        return handIn({ contract, running, transcript }, handedIn);
      }
      default:
        return verdict satisfies never;
    }
  }
  if (transcript.pending.length > 0) return { do: "perform-calls" };
  if (transcript.invalidStreak >= streakLimit) {
    return end(retryable({ code: "invalid_streak", calls: streakLimit }));
  }
  if (transcript.deniedStreak >= streakLimit) {
    return end(failure({ code: "denied_streak", calls: streakLimit }));
  }
  if (transcript.exit === null) return { do: "ask-model" };
  const handedIn = { text: transcript.exit, byTool: true, isLast: transcript.withdrawn };
  return handIn({ contract, running, transcript }, handedIn);
}

interface HandedIn {
  readonly text: string;
  /** Through an exit tool, whose `outputs` are then what the schema is about. */
  readonly byTool: boolean;
  readonly isLast: boolean;
}

function handIn({ contract, running, transcript }: Situation, handedIn: HandedIn): Command {
  const { isLast } = handedIn;
  // Before its first final answer the model reads once which of its children still run.
  if (running.length > 0 && !transcript.toldOfChildren && !transcript.withdrawn) {
    const reminder = { code: "children_running", children: running } as const;
    return { do: "say", from: "background", reminder };
  }
  const verdict = judgeOutput(handedIn, contract, transcript);
  if (verdict.kind === "failure") return end(verdict);
  if (verdict.kind === "repair") return { do: "say", from: "repair", reminder: verdict.reminder };
  const reason = isLast ? "budget_exhausted" : null;
  return end({ kind: "output", text: verdict.text, truncated: isLast, reason });
}

function end(ending: Ending): Command {
  return { do: "end", ending };
}

/** What becomes of a delegation whose attempt has ended. */
export type AfterAttempt =
  | { readonly do: "close"; readonly ending: Ending }
  | { readonly do: "retry"; readonly cause: Cause };

/** `best`: what an agent whose budget was overrun can still hand in. */
export function afterAttempt(
  ending: Ending,
  { attempt, isOverrun }: { readonly attempt: number; readonly isOverrun: boolean },
  { execution }: Pick<Contract, "execution">,
  best: () => Ending,
): AfterAttempt {
  const judged = isOverrun ? overrunEnding(ending, best) : ending;
  const mayRetry = judged.kind === "failure" && judged.retry && attempt <= execution.max_retries;
  return mayRetry ? { do: "retry", cause: judged.cause } : { do: "close", ending: judged };
}

/** After an overrun it ends for that, with the best that it has, however its last turn went. */
function overrunEnding(ending: Ending, best: () => Ending): Ending {
  if (ending.kind === "output") return { ...ending, truncated: true, reason: "budget_exhausted" };
  // What another model than the contract's said is no result.
  return ending.cause.code === "model_mismatch" ? { ...ending, retry: false } : best();
}

/** What follows from what the model just said: outcome is not acceptance. */
export type Verdict =
  | { readonly kind: "act" }
  | { readonly kind: "output"; readonly text: string }
  | { readonly kind: "say"; readonly reminder: Reminder }
  /** The agent ignores its exit rule in spite of all reminders: a person has to decide. */
  | { readonly kind: "ask"; readonly question: string }
  | { readonly kind: "fail"; readonly cause: Cause; readonly retry: boolean };

const nudgeLimit = 3;

const repeatLimit = 5;

const streakLimit = 5;

/** Judges the latest turn of a transcript, which may have been written before a crash. */
export function judgeReply(
  turn: UnjudgedTurn,
  contract: Contract,
  transcript: Transcript,
): Verdict {
  const calls = turn.calls?.length ?? 0;
  const text = turn.text ?? "";
  const last = turn.last === true;
  const pinned = [modelName(contract), ...(contract.model.fallbacks ?? [])];
  const { requested, served = null } = turn;
  const isPinned = requested === undefined || pinned.includes(requested);
  if (!isPinned || (served !== null && !isSameModel(requested ?? "", served))) {
    return fail({ code: "model_mismatch", pinned, served: served ?? requested ?? "" }, false);
  }
  // What a filter let through is a piece of an answer, however whole it looks.
  if (turn.finish_reason === "content-filter" && !last) {
    return fail({ code: "answer_filtered" }, true);
  }
  // The provider cut the answer: its last call may be half of one, so none is made.
  if (calls > 0 && turn.finish_reason === "length") return truncated(transcript);
  if (transcript.repeats >= repeatLimit) {
    return fail({ code: "same_call", times: transcript.repeats }, false);
  }
  if (calls > 0) return { kind: "act" };
  if (text === "") {
    return transcript.emptyTurns > 1
      ? fail({ code: "answer_empty" }, true)
      : { kind: "say", reminder: { code: "answer_empty" } };
  }
  if (turn.finish_reason === "length" && !last) return truncated(transcript);
  if (contract.exit.tools.length > 0 && !last) {
    return transcript.nudges >= nudgeLimit
      ? {
          kind: "ask",
          question: `It stopped ${nudgeLimit + 1} times without calling ${contract.exit.tools.join(" or ")}. What should it do next? It said last: ${headOf(text, 500)}`,
        }
      : { kind: "say", reminder: { code: "exit_required", tools: contract.exit.tools } };
  }
  return { kind: "output", text };
}

function truncated(transcript: Transcript): Verdict {
  return transcript.cutTurns > 1
    ? fail({ code: "answer_cut" }, true)
    : { kind: "say", reminder: { code: "answer_cut" } };
}

function fail(cause: Cause, retry: boolean): Verdict {
  return { kind: "fail", cause, retry };
}

/** Whether a final output satisfies the contract's schema: yes, say what is wrong, or give up. */
export type OutputVerdict =
  | { readonly kind: "output"; readonly text: string }
  | { readonly kind: "repair"; readonly reminder: Reminder }
  | Extract<Ending, { kind: "failure" }>;

export function judgeOutput(
  { byTool, text }: Pick<HandedIn, "byTool" | "text">,
  contract: Contract,
  transcript: Transcript,
): OutputVerdict {
  const schema = contract.exit.output_schema;
  if (schema === null) return { kind: "output", text };
  const problem = validate(text, schema, byTool);
  if (problem === null) return { kind: "output", text };
  if (transcript.repairs === 0) {
    return { kind: "repair", reminder: { code: "schema_unmet", text: problem } };
  }
  return failure({ code: "schema_unmet", text: problem });
}

function validate(
  text: string,
  schema: Readonly<Record<string, unknown>>,
  byTool: boolean,
): string | null {
  let value: unknown;
  try {
    value = JSON.parse(unfenced(text));
  } catch (error) {
    return `it is not JSON (${error instanceof Error ? error.message : String(error)}).`;
  }
  const about = byTool ? (value as { outputs?: unknown } | null)?.outputs : value;
  const parsed = compiled(schema).safeParse(about);
  if (parsed.success) return null;
  return `${describeIssues(parsed.error, compiled(schema))}.`;
}

/** Models like to wrap JSON in a code fence; that is spelling, not structure. */
function unfenced(text: string): string {
  const match = /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/.exec(text);
  return match?.[1] ?? text;
}

/** Throws in a sentence when a schema cannot be checked against: then nothing may be started with it. */
export function requireOutputSchema(
  schema: Readonly<Record<string, unknown>>,
  profile: string,
): void {
  try {
    if (hasPattern(schema))
      throw new Error("patterns are not supported, since matching one may never end.");
    compiled(schema);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MandateError(
      "profile-invalid",
      `The output schema of "${profile}" cannot be used: ${why}`,
      { cause },
    );
  }
}

/** A regular expression runs on what a model wrote, and cannot be stopped. */
function hasPattern(schema: unknown): boolean {
  if (typeof schema !== "object" || schema === null) return false;
  return Object.entries(schema).some(
    ([key, value]) =>
      (key === "pattern" && typeof value === "string") ||
      key === "patternProperties" ||
      hasPattern(value),
  );
}

const schemas = new WeakMap<object, z.ZodType>();

function compiled(schema: Readonly<Record<string, unknown>>): z.ZodType {
  let type = schemas.get(schema);
  if (type === undefined) {
    type = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
    schemas.set(schema, type);
  }
  return type;
}
