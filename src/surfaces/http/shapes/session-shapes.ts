import { z } from "zod";
import type { SessionBreadcrumb } from "../../../sessions/breadcrumb.ts";
import { sessionFormats } from "../../../sessions/export-session.ts";
import type { AgentSessionContext } from "../../../sessions/session.ts";
import type { SessionEntry } from "../../../sessions/session-entry.ts";
import { listOf, moment, plainData } from "./plain-data.ts";
import { client, estimated } from "./result-shapes.ts";

export const sessionRow = z.object({
  id: z.string(),
  runId: z.string(),
  title: z.string(),
  profile: z.string(),
  client,
  lastMessage: z.string(),
  status: z.enum([
    "created",
    "running",
    "waiting_for_merge",
    "completed",
    "failed",
    "timeout",
    "cancelled",
    "interrupted",
    "unreadable",
  ]),
  workspace: z.string().nullable(),
  updatedAt: moment,
  tokens: z.number(),
  cost: z.number(),
  estimated,
  runs: z.number(),
});

export const sessionDetail = z.object({
  sessionId: z.string(),
  title: z.string(),
  context: plainData<AgentSessionContext | null>(
    "Who the agent is and what it holds; null where its log cannot be read.",
  ),
  breadcrumbs: listOf(plainData<SessionBreadcrumb>("A child: who, what for, how it ended.")),
  entries: z.number().meta({ description: "How many messages there are." }),
  problems: listOf(z.string()),
});

export const messageEntry = plainData<SessionEntry>(
  "{ kind, … }: person, agent, call, remark, question, child, note or lost.",
);

export const renameBody = z.strictObject({
  title: z.string().max(500).meta({ description: "Empty: the given one is taken away." }),
});
export const renameReply = z.object({ sessionId: z.string(), title: z.string() });

export const sessionFormat = z.enum(sessionFormats);
export const exportedSession = z.object({
  sessionId: z.string(),
  format: sessionFormat,
  text: z.string(),
});
