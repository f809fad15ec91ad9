import { RE2JS } from "re2js";
import type { DelegationRequest, DelegationResult, StartOutcome } from "../../ports/delegator.ts";
import type { Effort } from "../../ports/model.ts";
import { clip, headOf } from "../../text.ts";
import type { RequestedAgent, ScriptError } from "./workflow-request.ts";

/** What a call of a script came to. `delegation`: the one that did it. */
export type CallOutcome = { readonly delegation?: string; readonly completion?: number } & (
  | { readonly outcome: "value"; readonly value: unknown }
  /** The agent failed, and the script sees null; the error is for people. */
  | { readonly outcome: "null"; readonly error: ScriptError }
  | { readonly outcome: "error"; readonly error: ScriptError }
);

export function thrown(message: string): CallOutcome {
  return { outcome: "error", error: errorOf(message) };
}

/** The error is recorded, and may quote what the script wrote. */
function errorOf(message: string): ScriptError {
  return { name: "Error", message: headOf(message, 4000) };
}

/** What makes two calls of an agent equal; labels and phases do not. */
export function contentOf(agent: RequestedAgent): Readonly<Record<string, unknown>> {
  const { agentType, effort, isolation, model, prompt, schema, workflow } = agent;
  return { kind: "agent", agentType, effort, isolation, model, prompt, schema, workflow };
}

export function labelOf({ label, prompt }: RequestedAgent): string {
  const [line = ""] = (label ?? prompt).trim().split("\n", 1);
  return clip(line, 80) || "agent";
}

/** Why an agent cannot be started as it is asked for. Undefined: it can. */
export function objectionTo(agent: RequestedAgent): string | undefined {
  const { agentType, effort, isolation, model, prompt, schema } = agent;
  for (const name of [agentType, effort, isolation, model]) {
    if ((name?.length ?? 0) > longestName) return `A name has at most ${longestName} characters.`;
  }
  if (isolation === "remote") return "isolation 'remote' is not available here.";
  if (prompt.length > longestPrompt) return `A prompt has at most ${longestPrompt} characters.`;
  if (schema === undefined || schema === null) return undefined;
  if (!isRecord(schema) || schema["type"] !== "object") {
    return "The root of a schema has type 'object'.";
  }
  const { additionalProperties, properties, required } = schema;
  if (additionalProperties !== false || !Array.isArray(required)) return undefined;
  const declared = isRecord(properties) ? properties : {};
  const missing = required.find((name) => !Object.hasOwn(declared, String(name)));
  return missing === undefined
    ? undefined
    : `No value can match the schema: "${String(missing)}" is required, and is not among its properties.`;
}

const longestName = 200;
const longestPrompt = 1_000_000;

/** What an agent of the script is asked, under its contract. */
export function requestFor(agent: RequestedAgent, key: string): DelegationRequest {
  const { agentType, effort, isolation, model, prompt, schema } = agent;
  return {
    key,
    task: prompt.trim() === "" ? emptyPrompt : prompt,
    title: labelOf(agent),
    context: [
      "Your last message is the value that a workflow script gets: say the result itself, without a greeting.",
      ...(isRecord(schema)
        ? [`Answer with JSON only, which matches this JSON Schema: ${JSON.stringify(schema)}`]
        : []),
    ].join("\n"),
    profile: agentType === undefined ? undefined : (usualAgents.get(agentType) ?? agentType),
    modelOverride: model,
    effort: effort === undefined ? undefined : efforts.get(effort),
    outputSchema: isRecord(schema) ? (withoutPatterns(schema) as typeof schema) : undefined,
    keepsCopy: isolation === "worktree",
  };
}

const emptyPrompt = "(The script gave no prompt.)";

/** The word of the format, where it is not one of ours. Unknown words are ignored. */
const efforts: ReadonlyMap<string, Effort> = new Map([
  ["low", "low"],
  ["medium", "medium"],
  ["high", "high"],
  ["xhigh", "xhigh"],
  ["max", "xhigh"],
]);

/** The names that scripts use for agents which every installation of the original has. */
const usualAgents: ReadonlyMap<string, string> = new Map([
  ["general-purpose", "general"],
  ["Explore", "researcher"],
  ["Plan", "planner"],
]);

/** A start that was refused: the script can catch it. */
export function refusedOutcome(
  { reason, rule }: Extract<StartOutcome, { readonly started: false }>,
  { agentType }: RequestedAgent,
): CallOutcome {
  // Scripts look for the words of the format, to continue with the agent that every installation has.
  const isUnknown = agentType !== undefined && (rule === "profile" || rule === "agent");
  return thrown(isUnknown ? `Agent type '${agentType}' not found: ${reason}` : reason);
}

/** What the script gets of an agent that has closed. */
export function outcomeOf(result: DelegationResult, { schema }: RequestedAgent): CallOutcome {
  const { closeReason, delegationId: delegation, status, tokenUsage } = result;
  const about = { delegation, completion: tokenUsage.completion };
  if (status === "completed") {
    if (schema == null) return { ...about, outcome: "value", value: result.result };
    const value = valueIn(result.result, schema);
    const message = patternProblem(value, schema);
    return message === undefined
      ? { ...about, outcome: "value", value }
      : { ...about, outcome: "error", error: errorOf(message) };
  }
  const error = errorOf(result.result);
  // Without a valid answer or money, the script has to know; what fails otherwise is null.
  const isThrown =
    closeReason === "budget_exhausted" ||
    (schema != null && (closeReason === "invalid_model_output" || closeReason === "empty_output"));
  return { ...about, outcome: isThrown ? "error" : "null", error };
}

/** The answer was checked against the schema before it was accepted. */
function valueIn(text: string, schema: unknown): unknown {
  const [, fenced = text] = /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/.exec(text) ?? [];
  const value: unknown = JSON.parse(fenced);
  const properties = isRecord(schema) ? schema["properties"] : undefined;
  // Where it is reviewed, it was handed in through a tool.
  const isWrapped = isRecord(value) && isRecord(value["outputs"]);
  const isOwn = isRecord(properties) && Object.hasOwn(properties, "outputs");
  return isWrapped && !isOwn ? value["outputs"] : value;
}

/** A regular expression of JavaScript may never end on what a model wrote: patterns are matched here. */
function withoutPatterns(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutPatterns);
  if (!isRecord(schema)) return schema;
  const entries = Object.entries(schema).filter(
    ([key, value]) => !(key === "pattern" && typeof value === "string"),
  );
  return Object.fromEntries(entries.map(([key, value]) => [key, withoutPatterns(value)]));
}

function patternProblem(value: unknown, schema: unknown): string | undefined {
  if (!isRecord(schema)) return undefined;
  const { items, pattern, properties } = schema;
  if (typeof value === "string" && typeof pattern === "string") {
    return matches(value, pattern)
      ? undefined
      : `The answer does not match the pattern ${pattern}.`;
  }
  const parts: readonly (readonly [unknown, unknown])[] = Array.isArray(value)
    ? value.map((each) => [each, items])
    : isRecord(value) && isRecord(properties)
      ? Object.entries(properties).map(([key, part]) => [value[key], part])
      : [];
  for (const [part, its] of parts) {
    const problem = patternProblem(part, its);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** In linear time. A pattern that this engine does not know matches nothing. */
function matches(text: string, pattern: string): boolean {
  try {
    return RE2JS.compile(pattern).matcher(text).find();
  } catch {
    return false;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
