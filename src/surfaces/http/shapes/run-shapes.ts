import { z } from "zod";
import { closeReasons } from "../../../events/close-reason.ts";
import { delegationRow } from "./delegation-shapes.ts";
import { agentId, profileName, sessionName, whoever } from "./ids.ts";
import { listOf, moment, plainData } from "./plain-data.ts";
import { longestWaitMs } from "./query-values.ts";
import { delegationResult, earlyAnswer, estimated } from "./result-shapes.ts";

const runStates = ["running", "interrupted", "succeeded", "failed", "cancelled"] as const;

export const runRow = z.object({
  runId: z.string(),
  title: z.string().meta({ description: "Its task in one line." }),
  application: z.string(),
  workspace: z.string().nullable(),
  state: z.enum(runStates),
  closeReason: z
    .enum(closeReasons)
    .nullable()
    .meta({ description: "Why it failed: cancelled, timeout, …; null where it did not." }),
  startedAt: moment,
  finishedAt: moment.nullable(),
  delegations: z.number(),
  tokens: z.number(),
  cost: z.number(),
  estimated,
});

export const runDetail = runRow.extend({
  task: z.string(),
  budgetTokens: z.number(),
  rootId: z.string().nullable(),
  elapsedMs: z.number(),
  /** Parents before their children, each level in the order of its steps; a thousand at most. */
  tree: listOf(delegationRow),
  answer: earlyAnswer.nullable().meta({
    description: "Of the root, while background sub-agents keep the run open; null otherwise.",
  }),
  /** Of the root; null while it is open. Results of children are at their delegations. */
  result: delegationResult.nullable(),
});

const waitMs = z
  .int()
  .min(0)
  .max(longestWaitMs)
  .optional()
  .meta({ description: "Milliseconds to wait for the end; the result is given if it comes." });

export const startRunBody = z.strictObject({
  task: z.string().min(1).max(1_000_000).optional(),
  plan: z
    .record(z.string(), z.unknown())
    .optional()
    .meta({ description: "Steps to carry out, in place of a task." }),
  profile: whoever.optional().meta({ description: "A profile, or a handle." }),
  agent: agentId.optional().meta({ description: "A handle, in place of a profile." }),
  context: z.string().max(1_000_000).optional(),
  title: z.string().min(1).max(500).optional(),
  workspace: z
    .string()
    .max(4096)
    .nullable()
    .optional()
    .meta({ description: "One of the server's folders, or one below; null: none." }),
  readOnly: z.boolean().optional(),
  budgetTokens: z.int().min(1).optional().meta({ description: "For the whole run." }),
  maxTokens: z.int().min(1).optional().meta({ description: "For the root and all below it." }),
  maxCost: z.number().positive().optional().meta({ description: "The same in US dollars." }),
  timeout: z.int().min(1).optional().meta({ description: "Milliseconds." }),
  maxDepth: z.int().min(0).max(100).optional(),
  modelOverride: z.string().min(1).max(200).optional(),
  tools: z.array(z.string().min(1).max(200)).max(500).optional(),
  forwardSkills: z.array(z.string().min(1).max(200)).max(500).optional(),
  watchers: z.array(profileName).max(5).optional(),
  session: sessionName.optional(),
  wait: waitMs,
});

export const startedRun = z.object({
  runId: z.string(),
  delegationId: z.string(),
  url: z.string().meta({ description: "Where the run is." }),
  result: delegationResult.nullable().meta({ description: "Null while it is open." }),
});

export const resumeBody = z.strictObject({
  maxTokens: startRunBody.shape.maxTokens,
  maxCost: startRunBody.shape.maxCost,
  timeout: startRunBody.shape.timeout,
});

const resumedOne = z.object({
  runId: z.string(),
  delegationId: z.string(),
  as: z
    .enum(["same", "new"])
    .meta({ description: "same: the run itself continues; new: a run of its own." }),
  from: z.string().meta({ description: "The delegation that is continued." }),
  agents: listOf(z.string()).meta({
    description: "Whose results count: the root's, or those of an external agent's sub-agents.",
  }),
  url: z.string(),
});

/** The first run that continues, and all of them. */
export const resumedRun = resumedOne.extend({
  runs: listOf(resumedOne).meta({
    description: "Several where an external agent left several sub-agents that did not complete.",
  }),
  refused: listOf(z.object({ delegationId: z.string(), reason: z.string() })).meta({
    description: "Sub-agents that could not be resumed, and why.",
  }),
});

export const forkBody = z.strictObject({
  at: z
    .int()
    .min(1)
    .meta({ description: "The last event to share, by its number in the run (`run_seq`)." }),
  profile: whoever.optional().meta({ description: "Who goes on; by default who it was." }),
  model: z.string().min(1).max(200).optional(),
  task: z
    .string()
    .min(1)
    .max(1_000_000)
    .optional()
    .meta({ description: "What is said next; by default that it goes on." }),
});

export const forkedRun = z.object({
  runId: z.string(),
  delegationId: z.string(),
  url: z.string(),
  turns: z.number().meta({ description: "How many turns of the old root agent it shares." }),
  sharedUpTo: z.number().meta({ description: "The last event that it shares." }),
});

export const continueBody = z.strictObject({
  message: z.string().min(1).max(1_000_000),
  readOnly: z.boolean().optional(),
  session: sessionName.optional(),
  wait: waitMs,
});

export const verification = z.object({
  ok: z.boolean(),
  events: z.number(),
  delegations: z.number(),
  violations: listOf(
    plainData<{ readonly invariant: string; readonly message: string }>(
      "{ invariant, runId?, delegationId?, seq?, message }",
    ),
  ),
});

const differences = listOf(
  plainData<{ readonly path: string; readonly message: string }>("{ path, message }"),
);

export const comparison = z.object({
  isSame: z.boolean(),
  runId: z.string(),
  other: z.string(),
  differences,
});

export const replayedRun = z.object({
  isSame: z.boolean(),
  runId: z.string(),
  delegations: z.number(),
  events: z.number(),
  isFinished: z.boolean(),
  differences,
});
