import { z } from "zod";
import { inboxKinds } from "../../../events/inbox-item.ts";
import { Inbox } from "../../../sessions/inbox.ts";
import { defineRoute, type Route } from "../route.ts";
import { limitOf, pageOf, pageQuery, readCursor } from "./paging.ts";
import { askId, flag, listOf, moment, runId, wordsOf } from "./shared-schemas.ts";
import { answerQuestion, answerReply, answerText } from "./steer-work.ts";

const inboxKind = z.enum(inboxKinds);

const inboxItem = z.object({
  id: z.number(),
  at: moment,
  runId: z.string(),
  delegationId: z.string().optional(),
  kind: inboxKind,
  severity: z.enum(["info", "warn", "critical"]),
  title: z.string(),
  text: z.string(),
  isOpen: z.boolean().optional(),
  ask: z
    .object({
      id: z.string(),
      deadlineAt: moment,
      default: z.string().nullable(),
      question: z
        .string()
        .optional()
        .meta({ description: "The whole question, while it is open." }),
    })
    .optional(),
});

export const inboxPage = z.object({
  items: listOf(inboxItem).meta({ description: "Latest first." }),
  nextCursor: z.string().nullable(),
  unread: z
    .number()
    .meta({ description: "Items that you have not read; 1000 means 1000 or more." }),
  seen: z.number().meta({ description: "The last item that you have read." }),
});

export const markReadBody = z.strictObject({ upTo: z.int().min(0) });
export const markReadReply = z.object({ seen: z.number(), unread: z.number() });

const tag = "inbox";

export const inboxRoutes: readonly Route[] = [
  defineRoute({
    id: "listInbox",
    method: "GET",
    path: "/inbox",
    summary: "Lists the inbox of all runs, latest first.",
    tag,
    role: "viewer",
    query: z.strictObject({
      ...pageQuery,
      kinds: wordsOf(inboxKinds)
        .optional()
        .meta({ description: inboxKinds.join(",") }),
      openOnly: flag.optional().meta({ description: "Only open questions." }),
      runId: runId.optional(),
    }),
    reply: inboxPage,
    async handle({ principal, query }, { runtime: { store } }) {
      const { kinds, openOnly, runId: of } = query;
      const inbox = new Inbox(store, { reader: principal.id });
      const before = readCursor(tag, query, z.int().min(0));
      const found = await inbox.read({
        limit: limitOf(query) + 1,
        ...(before !== undefined && { before }),
        ...(kinds !== undefined && { kinds }),
        ...(openOnly !== undefined && { openOnly }),
        ...(of !== undefined && { runId: of }),
      });
      const page = pageOf(tag, found.toReversed(), query, ({ id }) => id);
      return { ...page, unread: await inbox.unreadCount(), seen: await inbox.seen() };
    },
  }),
  defineRoute({
    id: "markInboxRead",
    method: "POST",
    path: "/inbox/read",
    summary: "Marks everything up to an item as read, for you only.",
    tag,
    role: "viewer",
    body: markReadBody,
    reply: markReadReply,
    async handle({ body, principal }, { runtime: { store } }) {
      const inbox = new Inbox(store, { reader: principal.id });
      const seen = await inbox.markRead(body.upTo);
      return { seen, unread: await inbox.unreadCount() };
    },
  }),
  defineRoute({
    id: "answerAsk",
    method: "POST",
    path: "/inbox/:askId/answer",
    summary: "Answers a question, from any depth. The first answer counts.",
    tag,
    role: "operator",
    params: z.object({ askId }),
    body: z.strictObject({ text: answerText }),
    reply: answerReply,
    handle: ({ body, params: { askId: id }, principal }, host) =>
      answerQuestion(host, id, body.text, principal),
  }),
];
