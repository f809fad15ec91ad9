import { z } from "zod";
import { closeReasons } from "../../../events/close-reason.ts";
import type { Seal } from "../../../events/seal.ts";
import type { DelegationResult } from "../../../ports/delegator.ts";
import { listOf, plainData } from "./plain-data.ts";

export const closeReason = z.enum(closeReasons);

/** How a delegation ended, in the four words that callers know. */
export const resultStatus = z.enum(["completed", "failed", "timeout", "cancelled"]);

export const estimated = z.literal(true).optional().meta({
  description: "Part of it was not reported by a provider: it is at most so much.",
});

export const client = z.string().optional().meta({
  description: 'Of an agent that another program runs, whose profile is "external": that program.',
});

export const tokenUsage = z.object({
  prompt: z.number(),
  completion: z.number(),
  cost: z.number().meta({ description: "US dollars." }),
  estimated,
});

export const artifactReference = z.object({ hash: z.string(), bytes: z.number() });

export const seal = plainData<Seal>(
  "What the runtime itself recorded: summary, output_hash, usage, turns, tool_calls, attempts, requested, served, calls, exits, files.",
);

export const delegationResult = z.object({
  delegationId: z.string(),
  profile: z.string(),
  client,
  status: resultStatus,
  outcome: z
    .enum(["succeeded", "failed", "cancelled"])
    .optional()
    .meta({ description: "Of the root of a run: how the whole run ended." }),
  result: z.string().meta({ description: "The final text, or the error's sentence." }),
  tokenUsage,
  duration: z.number().meta({ description: "Milliseconds." }),
  subDelegations: listOf(plainData<DelegationResult>("The same of a child.")).optional(),
  truncated: z.literal(true).optional(),
  closeReason,
  evidence: seal,
  artifacts: listOf(artifactReference).optional(),
});

/** A final answer that is there before its delegation closes. */
export const earlyAnswer = z.object({
  text: z.string(),
  truncated: z.boolean(),
  running: listOf(z.string()).meta({ description: "Its background sub-agents that still run." }),
});
