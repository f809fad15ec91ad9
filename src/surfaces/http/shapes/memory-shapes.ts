import { z } from "zod";
import { listOf, moment } from "./plain-data.ts";

const mark = z.object({ by: z.string(), at: moment }).nullable();

export const memoryRow = z.object({
  id: z.string(),
  text: z.string(),
  tags: listOf(z.string()),
  key: z.string().nullable(),
  scope: z.enum(["shared", "delegated"]),
  workspace: z.string().nullable(),
  runId: z.string(),
  delegationId: z.string(),
  profile: z.string(),
  createdAt: moment,
  supersedes: z.string().nullable(),
  isSuperseded: z.boolean(),
  promoted: mark,
  forgotten: mark,
});

export const memoryDecision = z.object({
  status: z.enum(["promoted", "forgotten", "unchanged"]),
  memory: memoryRow,
});
