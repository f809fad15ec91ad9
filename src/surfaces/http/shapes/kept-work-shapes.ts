import { z } from "zod";
import { listOf, plainData } from "./plain-data.ts";

/** What a delegation changed in its own copy. */
export const delegationDiff = z.object({
  runId: z.string(),
  delegationId: z.string(),
  status: z.enum(["created", "running", "waiting_for_merge", "completed", "failed"]),
  source: z.enum(["copy", "log"]),
  files: listOf(
    z.object({
      path: z.string(),
      change: z.enum(["added", "removed", "changed"]),
      lines: z.object({ added: z.number(), removed: z.number() }).nullable(),
    }),
  ),
  added: z.number().meta({ description: "Lines, over all files whose lines are known." }),
  removed: z.number(),
  text: z.string(),
  truncated: z.boolean(),
  problems: listOf(z.string()),
});

export const mergeBody = z.strictObject({
  anyPath: z.boolean().optional(),
  skipChecks: z.boolean().optional(),
  withConfiguration: z.boolean().optional(),
});

/** A conflict is an answer and has changed nothing. */
export const mergeReply = z.object({
  delegationId: z.string(),
  status: z.enum(["merged", "conflict", "violation", "refused"]),
  into: z.string(),
  copy: z.enum(["removed", "kept"]),
  files: listOf(z.string()),
  sentence: z.string().nullable().meta({ description: "Why it was not merged." }),
  ref: z.string().nullable().meta({ description: "Where the commit can be found, if not merged." }),
  details: plainData<Readonly<Record<string, unknown>>>("All that is known of the integration."),
});

export const discardBody = z.strictObject({
  deleteChanges: z.boolean().optional().meta({ description: "Also what was not merged." }),
});

export const discardReply = z.object({
  delegationId: z.string(),
  status: z.enum(["discarded", "kept"]),
  files: listOf(z.string()),
  sentence: z.string().nullable(),
});
