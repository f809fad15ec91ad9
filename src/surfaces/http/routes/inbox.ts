import { z } from "zod";
import { describeAsk } from "../../../application/describe-ask.ts";
import { runOwnersOf } from "../../../control/access/run-owners.ts";
import { inboxKinds } from "../../../events/inbox-item.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Store } from "../../../ports/store.ts";
import { Inbox } from "../../../sessions/inbox.ts";
import { defineRoute, type Host } from "../route.ts";
import { limitOf, pageOf, pageQuery, readCursor } from "./paging.ts";
import { askId, flag, listOf, moment, plainData, runId, wordsOf } from "./shared-schemas.ts";
import { answerQuestion, answerReply, answerText } from "./steer-work.ts";

const inboxKind = z.enum(inboxKinds);

export const inboxItem = z.object({
  id: z.number(),
  at: moment,
  runId: z.string(),
  delegationId: z.string().optional(),
  kind: inboxKind,
  severity: z.enum(["info", "warn", "critical"]),
  title: z.string(),
  text: z.string(),
  startedBy: z
    .string()
    .optional()
    .meta({ description: "The token that started the run; absent: not known." }),
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

const inboxPage = z.object({
  items: listOf(inboxItem).meta({ description: "Latest first." }),
  nextCursor: z.string().nullable(),
  unread: z
    .number()
    .meta({ description: "Items that you have not read; 1000 means 1000 or more." }),
  seen: z.number().meta({ description: "The last item that you have read." }),
});

const markReadBody = z.strictObject({ upTo: z.int().min(0) });
const markReadReply = z.object({ seen: z.number(), unread: z.number() });

/** An open question with everything that it is about. */
export const askDetail = z.object({
  askId: z.string(),
  runId: z.string(),
  delegationId: z.string().nullable(),
  isApproval: z.boolean(),
  who: z.string().meta({ description: "The agent that asks." }),
  task: z.string().meta({ description: "The task of its run." }),
  question: z.string(),
  deadlineAt: moment,
  default: z.string().nullable(),
  patch: z.string().nullable().meta({ description: "The change to approve, as a diff." }),
  call: z
    .object({ tool: z.string(), input: plainData<unknown>("The whole input.") })
    .nullable()
    .meta({ description: "The call to approve, if it is not shown as a diff." }),
});

const tag = "inbox";

/** Items with the person who started their run. */
export async function withPersons<Item extends { readonly runId: string }>(
  store: Store,
  items: readonly Item[],
): Promise<readonly (Item & { readonly startedBy?: string })[]> {
  const owners = runOwnersOf(store);
  const named = [];
  for (const item of items) {
    const startedBy = await owners.of(item.runId);
    named.push({ ...item, ...(startedBy !== undefined && { startedBy }) });
  }
  return named;
}

export const inboxRoutes = [
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
      return {
        ...page,
        items: await withPersons(store, page.items),
        unread: await inbox.unreadCount(),
        seen: await inbox.seen(),
      };
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
    id: "getAsk",
    method: "GET",
    path: "/inbox/:askId",
    summary: "Shows an open question, with the change or the call that it is about.",
    tag,
    role: "viewer",
    params: z.object({ askId }),
    reply: askDetail,
    handle: ({ params: { askId: id } }, host) => openAskDetail(host, id),
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

async function openAskDetail(
  { runtime: { store, workFolder: home } }: Host,
  id: string,
): Promise<z.infer<typeof askDetail>> {
  const of = await store.findRun(id);
  if (of === undefined) throw new MandateError("unknown-ask", `There is no question ${id}.`);
  const item = (await new Inbox(store).open({ runId: of })).find(({ ask }) => ask?.id === id);
  if (item?.ask === undefined) {
    throw new MandateError("ask-closed", `The question ${id} is not open any more.`);
  }
  const { call = null, patch = null, task, text, who } = await describeAsk({ store, home }, item);
  const { default: answer, deadlineAt } = item.ask;
  return {
    ...{ askId: id, runId: item.runId, delegationId: item.delegationId ?? null },
    isApproval: item.kind === "approval",
    ...{ who, task, question: text, deadlineAt, default: answer, patch, call },
  };
}
