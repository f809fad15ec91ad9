import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import type { DelegationResult, Delegator } from "../../ports/delegator.ts";
import { defineTool } from "../tool.ts";
import { delegateAbout } from "./delegate-about.ts";
import { fitResult, fits, transcriptReference } from "./fit-result.ts";
import { refusedStart } from "./refused-start.ts";

const positive = z.int().positive();

export const delegateTaskTool = defineTool({
  name: "delegate_task",
  description:
    "Delegate a task to a sub-agent and wait for its result. It works in its own context and sees only the task and the context you give.",
  effect: "spawn",
  exposure: noExposure,
  idempotent: true,
  scopes: [],
  changes: "none",
  choosesFrom: "profiles",
  describesChildren: true,
  waits: true,
  input: z.strictObject({
    profile: z.string().describe("Who does it."),
    task: z.string().describe("What to do, complete in itself."),
    context: z.string().optional().describe("What it needs to know in addition to the task."),
    maxTokens: positive.optional().describe("Token budget; never more than you have left."),
    maxTokenBudget: positive.optional().describe("The same as maxTokens."),
    timeout: positive.optional().describe("Milliseconds."),
    maxDepth: z.int().min(0).optional().describe("How many levels may follow below it."),
  }),
  about: ({ profile }, context) => delegateAbout(profile, context),
  async execute(input, { delegator }) {
    if (input.task.trim() === "") return { text: "Error: task is required", isError: true };
    const outcome = await delegator.start(
      {
        task: input.task,
        profile: input.profile,
        context: input.context,
        maxTokens: input.maxTokens ?? input.maxTokenBudget,
        timeoutMs: input.timeout,
        maxDepth: input.maxDepth,
      },
      "delegate",
    );
    if (!outcome.started) return refusedStart(outcome);
    return delegator.joinAndComplete(outcome.delegationId, (result) => ({
      text: describeResult(result, delegator),
      ...(result.status !== "completed" && { isError: true }),
    }));
  },
});

/** A DelegationResult as JSON, with a result that fits the caller's conversation. */
export function describeResult(
  result: DelegationResult,
  delegator: Pick<Delegator, "isSealed" | "joinTokens">,
): string {
  const { evidence, subDelegations, ...rest } = result;
  const text = fitResult(result, delegator.joinTokens);
  // Of very many results only the words and the outcome have room.
  if (delegator.joinTokens < leastWithEvidence) {
    const { closeReason, delegationId, profile, status } = rest;
    return JSON.stringify({ delegationId, profile, status, closeReason, result: text });
  }
  const { summary: _summary, usage: _usage, ...seal } = evidence;
  const transcript = transcriptReference(result, delegator);
  const below = subDelegations && boundedBelow(subDelegations, delegator.joinTokens);
  return JSON.stringify({
    ...rest,
    ...(below && { subDelegations: below }),
    result: text,
    evidence: seal,
    transcript,
  });
}

const leastWithEvidence = 200;

/** What it delegated itself; only how that ended, where its results are too long to be shown too. */
function boundedBelow(below: readonly DelegationResult[], tokens: number): readonly unknown[] {
  if (fits(JSON.stringify(below), tokens)) return below;
  return below.map(({ closeReason, delegationId, profile, status }) => ({
    delegationId,
    profile,
    status,
    closeReason,
  }));
}
