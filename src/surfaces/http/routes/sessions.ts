import { z } from "zod";
import { publicExport } from "../../../application/public-contract.ts";
import { holdsRole } from "../../../control/records/principal.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { sessionFormats } from "../../../sessions/export-session.ts";
import { listSessions } from "../../../sessions/list-sessions.ts";
import { readRunOf } from "../../../sessions/read-run.ts";
import { readSession } from "../../../sessions/read-session.ts";
import type { AgentSessionContext, SessionBreadcrumb } from "../../../sessions/session.ts";
import type { SessionEntry } from "../../../sessions/session-entry.ts";
import { renameSession } from "../../../sessions/session-records.ts";
import { defineRoute } from "../route.ts";
import { client, estimated } from "./describe-delegation.ts";
import { limitOf, pageOf, pageQuery, pageSchema, readCursor } from "./paging.ts";
import { requireServed, sessionOf } from "./place-of-request.ts";
import { listOf, moment, plainData, sessionId, sessionName } from "./shared-schemas.ts";
import { describeStarted, startedRun, waitMs } from "./start-run.ts";

const sessionRow = z.object({
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

const sessionDetail = z.object({
  sessionId: z.string(),
  title: z.string(),
  context: plainData<AgentSessionContext | null>(
    "The agent and its authority; null: the log cannot be read.",
  ),
  breadcrumbs: listOf(plainData<SessionBreadcrumb>("A child: profile, task and outcome.")),
  entries: z.number().meta({ description: "The number of messages." }),
  problems: listOf(z.string()),
});

export const messageEntry = plainData<SessionEntry>(
  "{ kind, … }: person, agent, call, remark, question, child, note or lost.",
);

const renameBody = z.strictObject({
  title: z.string().max(500).meta({ description: "Empty: removes the given title." }),
});
const renameReply = z.object({ sessionId: z.string(), title: z.string() });

const sessionFormat = z.enum(sessionFormats);
const exportedSession = z.object({
  sessionId: z.string(),
  format: sessionFormat,
  text: z.string(),
});

const continueBody = z.strictObject({
  message: z.string().min(1).max(1_000_000),
  modelOverride: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .meta({ description: "Another model from here on: provider/model, or a pool." }),
  readOnly: z.boolean().optional(),
  session: sessionName.optional(),
  wait: waitMs,
});

const tag = "sessions";
const params = z.object({ sessionId });
const longestExport = 32 * 1024 * 1024;

export const sessionRoutes = [
  defineRoute({
    id: "listSessions",
    method: "GET",
    path: "/sessions",
    summary: "Lists sessions, the most recently used first.",
    tag,
    role: "viewer",
    cost: 5,
    query: z.strictObject({ ...pageQuery, workspace: z.string().max(4096).optional() }),
    reply: pageSchema(sessionRow),
    async handle({ query }, { runtime: { store } }) {
      const { workspace } = query;
      const before = readCursor(tag, query, sessionId);
      const rows = await listSessions(store, { before, workspace, limit: limitOf(query) + 1 });
      return pageOf(tag, rows, query, ({ id }) => id);
    },
  }),
  defineRoute({
    id: "getSession",
    method: "GET",
    path: "/sessions/:sessionId",
    summary: "Shows a session. Its messages are those of its delegation.",
    tag,
    role: "viewer",
    params,
    reply: sessionDetail,
    async handle({ params: { sessionId: id } }, { runtime: { store } }) {
      const { entries, ...session } = await readSession(store, id);
      return { ...session, entries: entries.length };
    },
  }),
  defineRoute({
    id: "renameSession",
    method: "PUT",
    path: "/sessions/:sessionId/title",
    summary: "Sets the title of a session; an empty one removes it.",
    tag,
    role: "operator",
    params,
    body: renameBody,
    reply: renameReply,
    async handle({ body, params: { sessionId: id }, principal }, { runtime: { store } }) {
      const renamed = await renameSession(store, id, body.title, principal);
      return { sessionId: renamed, title: (await readSession(store, renamed)).title };
    },
  }),
  defineRoute({
    id: "exportSession",
    method: "GET",
    path: "/sessions/:sessionId/export",
    summary: "Exports a session as Markdown or JSON lines.",
    tag,
    role: "viewer",
    params,
    query: z.strictObject({ format: sessionFormat.optional() }),
    reply: exportedSession,
    async handle({ params: { sessionId: id }, principal, query }, { runtime: { store } }) {
      const { format = "markdown" } = query;
      const withPrompts = holdsRole("operator", principal);
      let text = "";
      for await (const piece of publicExport(store, id, { format, withPrompts })) {
        text += piece;
        if (text.length <= longestExport) continue;
        throw new MandateError(
          "refused-by-policy",
          `Session ${id} is too long for one response. Export it on the machine with the database: mandate sessions export ${id}`,
        );
      }
      return { sessionId: id, format, text };
    },
  }),
  defineRoute({
    id: "continueSession",
    method: "POST",
    path: "/sessions/:sessionId/messages",
    summary: "Continues a session whose run has finished, as a new run on the same conversation.",
    tag,
    role: "operator",
    params,
    body: continueBody,
    reply: startedRun,
    status: 201,
    async handle({ body, isPage, params: { sessionId: id }, principal, signal }, host) {
      const { engine, store } = host.runtime;
      await requireServed(host, (await readRunOf(store, id)).workspace);
      const { message, modelOverride, readOnly, session, wait = 0 } = body;
      const place = { by: principal, session: sessionOf(principal, session) };
      const options = { ...place, modelOverride, readOnly, isTyped: isPage };
      const started = await engine.continueSession(id, message, options);
      return describeStarted(host, started, wait, signal);
    },
  }),
];
