import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import type { CallSubjects } from "../../contracts/judge-by-rules.ts";
import type {
  ChildResults,
  DelegationResult,
  JoinedOutput,
  StartOutcome,
} from "../../ports/delegator.ts";
import { headOfBytes } from "../../text.ts";
import type { ToolContext, ToolResult } from "../tool.ts";

/**
 * What the delegation tools have in common: traits, the subjects of a call, refused starts, and
 * results that fit into the caller's conversation. May import ports and contracts.
 */

/** Traits of tools that start, read or steer children. */
export const childTool = {
  effect: "spawn",
  exposure: noExposure,
  idempotent: true,
  scopes: [],
  changes: "none",
} as const;

/** Traits of tools that end a delegation or ask a person. */
export const exitTool = { ...childTool, effect: "read" } as const;

/** A sub-agent's id as a parameter, and the names of the same id in results of other tools. */
export const subAgentId = z.string().max(100).describe("The sub-agent's id.");
export const idAliases = {
  id: "delegationId",
  job_id: "delegationId",
  session_id: "delegationId",
  sub_agent_id: "delegationId",
} as const;

/** The parameters of a task, by the names that the tools that start sub-agents have for them. */
export function taskAliases(names: { readonly task: string; readonly profile: string }) {
  const { profile, task } = names;
  const tasks = { task, prompt: task, task_instructions: task, instructions: task };
  return { ...tasks, profile, agent: profile, agent_id: profile };
}

/** The longest time that a timer of Node can wait. */
export const longestMs = 2 ** 31 - 1;

/** Three bytes a token is on the safe side for prose and code alike. */
export const bytesPerToken = 3;

function bytesFor(tokens: number): number {
  return Math.max(200, tokens * bytesPerToken);
}

export function fits(text: string, tokens: number): boolean {
  const limit = bytesFor(tokens);
  // A UTF-16 unit is at most three bytes: short texts need no counting.
  return text.length * 3 <= limit || Buffer.byteLength(text) <= limit;
}

/** A result's text, cut to the caller's limit for results, with a remark on how to read the rest. */
export function fitResult(result: DelegationResult, tokens: number): string {
  if (fits(result.result, tokens)) return result.result;
  const excerpt = headOfBytes(result.result, bytesFor(tokens));
  return `${excerpt}\n[… ${Buffer.byteLength(result.result)} bytes in all. Read on with peek_result, search_result or slice_result, delegationId ${result.delegationId}.]`;
}

/** A child's result as text: its own words, or an error that names how it ended. */
export function joinedOutput(
  { closeReason, status }: DelegationResult,
  said: string,
): JoinedOutput {
  if (status === "completed") return { text: said };
  const cause = closeReason === status ? status : `${status} (${closeReason})`;
  return { text: `Error: ${cause}: ${said}`, isError: true };
}

const transcriptSuffix = "/transcript";

/** The id under which the result readers find a child's transcript; undefined where it is sealed. */
export function transcriptReference(
  { delegationId }: DelegationResult,
  results: Pick<ChildResults, "isSealed">,
): string | undefined {
  return results.isSealed(delegationId) ? undefined : `${delegationId}${transcriptSuffix}`;
}

/** The reference to the transcript as a sentence, for results that are given as text. */
export function aboutTranscript(
  result: DelegationResult,
  results: Pick<ChildResults, "isSealed">,
): readonly string[] {
  const reference = transcriptReference(result, results);
  return reference === undefined
    ? []
    : [
        `[What it said and did: peek_result, search_result or slice_result, delegationId ${reference}.]`,
      ];
}

/** The delegation that a reference names, and whether its transcript is meant. */
export function readReference(reference: string): {
  readonly id: string;
  readonly isTranscript: boolean;
} {
  const isTranscript = reference.endsWith(transcriptSuffix);
  return {
    id: isTranscript ? reference.slice(0, -transcriptSuffix.length) : reference,
    isTranscript,
  };
}

/** The target of a call, by the name it was given and by the profile behind it. */
export function delegateAbout(name: string, { delegator }: ToolContext): CallSubjects {
  const behind = delegator.profileBehind(name);
  return { kind: "text", values: [...new Set([name, ...(behind === undefined ? [] : [behind])])] };
}

type Refused = Extract<StartOutcome, { readonly started: false }>;

/** The result of a call whose child was not started. */
export function refusedStart(outcome: Refused, text = `Error: ${outcome.reason}`): ToolResult {
  return { text, isError: true, ...(outcome.isFault && { spawnFailed: true }) };
}
