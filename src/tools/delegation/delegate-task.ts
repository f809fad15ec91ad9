import { z } from "zod";
import type { ReceiptLine } from "../../contracts/receipt.ts";
import type { ChildResults, DelegationResult } from "../../ports/delegator.ts";
import { defineTool } from "../tool.ts";
import {
  aboutTranscript,
  childTool,
  delegateAbout,
  fitResult,
  fits,
  joinedOutput,
  refusedStart,
  transcriptReference,
} from "./delegation-call.ts";

const positive = z.int().positive();

export const delegateTaskTool = defineTool({
  name: "delegate_task",
  description:
    "Delegate a task to a sub-agent and wait for its result. It works in its own context and sees only the task and the context you give.",
  ...childTool,
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
    return delegator.results.joinAndComplete(outcome.delegationId, (result) => ({
      text: describeResult(result, delegator.results),
      ...(result.status !== "completed" && { isError: true }),
    }));
  },
});

/** A DelegationResult as JSON, with a result that fits the caller's conversation. */
export function describeResult(
  result: DelegationResult,
  results: Pick<ChildResults, "isSealed" | "joinTokens">,
): string {
  const { evidence, subDelegations, ...rest } = result;
  const text = fitResult(result, results.joinTokens);
  // Of very many results only the words and the outcome have room.
  if (results.joinTokens < leastWithEvidence) {
    const { closeReason, delegationId, profile, status } = rest;
    return JSON.stringify({ delegationId, profile, status, closeReason, result: text });
  }
  const { summary: _summary, usage: _usage, ...seal } = evidence;
  const transcript = transcriptReference(result, results);
  const below = subDelegations && boundedBelow(subDelegations, results.joinTokens);
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

/** Delegation by handle: the registry says who that is and what may be forwarded to it. */
export const delegateToAgentTool = defineTool({
  name: "delegate_to_agent",
  description:
    "Delegate a task to a registered agent and wait for its result. The agents are listed in your " +
    "instructions; each runs on its own profile, whatever you ask for.",
  ...childTool,
  choosesFrom: "agents",
  waits: true,
  about: ({ agentId }, context) => delegateAbout(agentId, context),
  input: z.strictObject({
    agentId: z.string().min(1).max(64).describe("The agent's handle, such as @writer."),
    task_instructions: z
      .string()
      .min(1)
      .describe("The task. The agent sees nothing else of this conversation."),
    forward_skills: z
      .array(z.string().min(1).max(128))
      .max(100)
      .optional()
      .describe("Skills to forward, among those it may be given."),
    model_override: z
      .string()
      .min(1)
      .max(256)
      .optional()
      .describe("Another model, among those its profile allows."),
  }),
  async execute(input, { delegator }) {
    const outcome = await delegator.start(
      {
        agent: input.agentId,
        task: input.task_instructions,
        forwardSkills: input.forward_skills,
        modelOverride: input.model_override,
      },
      "delegate",
    );
    if (!outcome.started) return refusedStart(outcome);
    const { delegationId, receipt } = outcome;
    const clamped = describeClamps(receipt);
    return delegator.results.joinAndComplete(delegationId, (result) => {
      const output = joinedOutput(result, fitResult(result, delegator.results.joinTokens));
      const text = [output.text, ...aboutTranscript(result, delegator.results), ...clamped].join(
        "\n\n",
      );
      return { ...output, text };
    });
  },
});

/** What was asked for and not given, in fixed words. */
function describeClamps(receipt: readonly ReceiptLine[]): readonly string[] {
  return receipt.flatMap(({ dropped = [], field, granted, reason }) => {
    if (field === "skills" && dropped.length > 0) return `Clamped skills: ${dropped.join(", ")}.`;
    if (field !== "model" || reason === undefined) return [];
    return `Model override clamped to delegated profile model (${String(granted)}).`;
  });
}
