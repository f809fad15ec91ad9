import { z } from "zod";

/**
 * The structured output of tools. Loose where the engine may add fields, which clients must accept.
 */
const tokenUsage = z.looseObject({
  prompt: z.number(),
  completion: z.number(),
  cost: z.number().describe("US dollars; 0 when the model has no price."),
  estimated: z
    .boolean()
    .optional()
    .describe("Part of it was not reported: the value is an upper bound."),
});

const endOrRunning = z.enum(["completed", "failed", "timeout", "cancelled", "running"]);

export const delegationResult = z.looseObject({
  delegationId: z.string(),
  profile: z.string(),
  status: endOrRunning,
  outcome: z.enum(["succeeded", "failed", "cancelled"]).optional(),
  result: z.string().describe("The sub-agent's report, or why it failed."),
  tokenUsage: tokenUsage.optional(),
  duration: z.number().optional().describe("Milliseconds."),
  subDelegations: z.array(z.looseObject({ delegationId: z.string() })).optional(),
  truncated: z.boolean().optional().describe("The budget was exhausted before the work was done."),
  closeReason: z.string().optional().describe("Absent while it is running."),
  evidence: z.looseObject({}).optional().describe("The record of the runtime about its work."),
  artifacts: z.array(z.looseObject({ hash: z.string(), bytes: z.number() })).optional(),
  transcript: z.string().optional(),
});

export const foundResult = z.object({
  delegation: delegationResult.nullable().describe("null: it is still running, or does not exist."),
});

export const startedJob = z.object({ job_id: z.string() });

export const awaitedJobs = z.object({
  jobs: z.array(
    z.object({
      job_id: z.string(),
      status: z.enum(["ok", "error", "running", "not_found"]),
      result: z.string().optional().describe("What it reported, or why it failed."),
    }),
  ),
  running: z.int().describe("How many are still running: call spawn_await again for them."),
});

/** Of calls that answer in text. */
export const saidResult = z.object({
  delegationId: z.string().optional(),
  status: endOrRunning.optional(),
  text: z.string(),
});

export const subagentStatus = z.looseObject({
  mode: z.enum(["blocking", "background"]),
  sessionId: z.string().optional(),
  status: z.string(),
  closeReason: z.string().optional(),
  summary: z.string().optional(),
  error: z.string().optional(),
});

export const subAgentList = z.object({
  subAgents: z.array(
    z.looseObject({
      delegationId: z.string(),
      profile: z.string(),
      title: z.string(),
      status: z.string(),
      finalStatus: z.enum(["completed", "failed"]).optional().describe("For closed sub-agents."),
      outcome: z
        .enum(["completed", "failed", "timeout", "cancelled"])
        .optional()
        .describe("The outcome of a closed sub-agent."),
      closeReason: z.string().optional().describe("Why a closed sub-agent ended."),
      resume: z.string().optional().describe("The command that continues its work."),
      depth: z.number(),
      tokens: z.number(),
      cost: z.number(),
      estimated: z.boolean().optional(),
    }),
  ),
});

export const cancelledDelegation = z.looseObject({
  delegationId: z.string(),
  outcome: z.enum(["cancelled", "already_terminal", "not_found"]),
});

export const sentMessage = z.object({ delegationId: z.string() });

export const plainText = z.object({ text: z.string() });
