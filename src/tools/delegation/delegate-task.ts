import { z } from "zod";
import { nameList, namesIn } from "../../agents/documents/tool-input.ts";
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
  longestMs,
  refusedStart,
  taskAliases,
  transcriptReference,
} from "./delegation-call.ts";

export const delegateTaskTool = defineTool({
  name: "delegate_task",
  description:
    "Delegate a task to a sub-agent and wait for its result. It works in its own context and sees only the task and the context you pass.",
  ...childTool,
  choosesFrom: "profiles",
  describesChildren: true,
  waits: true,
  aliases: {
    ...taskAliases({ profile: "profile", task: "task" }),
    maxTokenBudget: "maxTokens",
    timeout_ms: "timeout",
  },
  input: z.strictObject({
    profile: z.string().describe("The sub-agent's profile, or a handle such as @writer."),
    task: z.string().describe("The task, complete in itself."),
    context: z.string().optional().describe("Facts that the task needs."),
    maxTokens: z.int().min(1).max(1e9).optional().describe("Its token budget, within yours."),
    timeout: z.int().min(1).max(longestMs).optional().describe("Its time limit in milliseconds."),
    maxDepth: z.int().min(0).max(100).optional().describe("Levels of sub-agents below it."),
  }),
  about: ({ profile }, context) => delegateAbout(profile, context),
  async execute(input, { delegator }) {
    if (input.task.trim() === "") return { text: "Error: task is required", isError: true };
    const outcome = await delegator.start(
      {
        task: input.task,
        profile: input.profile,
        context: input.context,
        maxTokens: input.maxTokens,
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
  // With very many results, only the text and the outcome have room.
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

/** Delegation by handle: the registry has its profile, and what may be forwarded to it. */
export const delegateToAgentTool = defineTool({
  name: "delegate_to_agent",
  description:
    "Delegate a task to a registered agent and wait for its result. The agents are listed in your instructions; each runs on its own profile.",
  ...childTool,
  choosesFrom: "agents",
  waits: true,
  about: ({ agentId }, context) => delegateAbout(agentId, context),
  aliases: {
    ...taskAliases({ profile: "agentId", task: "task_instructions" }),
    skills: "forward_skills",
    model: "model_override",
  },
  input: z.strictObject({
    agentId: z.string().min(1).max(64).describe("The agent's handle, such as @writer."),
    task_instructions: z.string().min(1).describe("The task, complete in itself."),
    forward_skills: nameList.optional().describe("Skills to forward, among those it may have."),
    model_override: z
      .string()
      .min(1)
      .max(256)
      .optional()
      .describe("Another model, among those its profile allows."),
  }),
  async execute({ forward_skills: skills, ...input }, { delegator }) {
    const outcome = await delegator.start(
      {
        agent: input.agentId,
        task: input.task_instructions,
        forwardSkills: skills === undefined ? undefined : namesIn(skills),
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
