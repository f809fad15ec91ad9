import { z } from "zod";

/**
 * The structured output of tools. Loose where the engine adds fields, which clients must accept:
 * every conversation pays for the fields that are named here.
 */
const ended = ["completed", "failed", "timeout", "cancelled"] as const;

const endOrRunning = z.enum([...ended, "running"]);

export const delegationResult = z.looseObject({
  delegationId: z.string(),
  profile: z.string(),
  status: endOrRunning,
  result: z.string().describe("Its report, or why it failed."),
  tokenUsage: z.looseObject({}).optional(),
  duration: z.number().optional().describe("Milliseconds."),
  closeReason: z.string().optional(),
  evidence: z.looseObject({}).optional().describe("What the runtime recorded of its work."),
});

export const foundResult = z.object({
  delegation: z
    .looseObject({ delegationId: z.string(), status: z.enum(ended), result: z.string() })
    .nullable()
    .describe("null: it is running, or does not exist."),
});

export const startedJob = z.object({
  job_id: z.string(),
  next: z.string().optional(),
});

export const startedWorkflow = z.object({ delegationId: z.string() });

export const awaitedJobs = z.object({
  jobs: z.array(
    z.object({
      job_id: z.string(),
      status: z.enum(["ok", "error", "running", "not_found"]),
      result: z.string().optional(),
    }),
  ),
  running: z.int().describe("Call again for them."),
});

/** The output of calls that answer in text. */
export const saidResult = z.object({
  delegationId: z.string().optional(),
  status: endOrRunning.optional(),
  text: z.string(),
});

export const subagentStatus = z.looseObject({
  mode: z.enum(["blocking", "background"]),
  sessionId: z.string().optional().describe("The sub-agent's id."),
  status: z.string(),
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
      outcome: z.enum(ended).optional(),
      closeReason: z.string().optional(),
      resume: z.string().optional().describe("The command that continues its work."),
      tokens: z.number(),
      cost: z.number().describe("US dollars."),
    }),
  ),
});

export const foundProfiles = z.object({
  profiles: z.array(z.object({ name: z.string(), description: z.string() })),
  matches: z.int(),
  total: z.int(),
});

export const cancelledDelegation = z.looseObject({
  delegationId: z.string(),
  outcome: z.enum(["cancelled", "already_terminal", "not_found"]),
});

export const sentMessage = z.object({ delegationId: z.string() });

export const plainText = z.object({ text: z.string() });
