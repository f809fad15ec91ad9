import { z } from "zod";
import { openAskOf } from "../../../events/delegation.ts";
import { askWorkersOnce, isRunInterrupted } from "../../../events/is-worked-on.ts";
import type { RunState } from "../../../events/run-state.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { type PieceRequest, textPiece as pieceOf } from "../../../sessions/delegation-result.ts";
import { type DelegationPlace, listDelegations } from "../../../sessions/list-delegations.ts";
import { readRunOf } from "../../../sessions/read-run.ts";
import { readSession } from "../../../sessions/read-session.ts";
import { defineRoute, type Host } from "../route.ts";
import { delegationDetail, detailOf, readNamedArtifact } from "./delegation-detail.ts";
import { delegationResult, delegationRow, describeDelegation } from "./describe-delegation.ts";
import {
  encodeCursor,
  eventPage,
  eventQuery,
  eventRow,
  limitOf,
  pageQuery,
  pageSchema,
  readCursor,
} from "./paging.ts";
import { messageEntry } from "./sessions.ts";
import { askId, countIn, delegationId, flag, hash, profileName, runId } from "./shared-schemas.ts";
import {
  answerQuestion,
  answerReply,
  answerText,
  cancelBody,
  cancelReply,
  cancelWork,
  resumeBody,
  resumedRun,
  resumeWork,
  sendBody,
  sendReply,
  tellAgent,
} from "./steer-work.ts";

const textPiece = z.object({
  hash: z.string(),
  characters: z.number(),
  lines: z.number(),
  text: z.string(),
  isCut: z.boolean(),
});

const tag = "delegations";
const params = z.object({ delegationId });

export const delegationRoutes = [
  defineRoute({
    id: "listDelegations",
    method: "GET",
    path: "/delegations",
    summary: "Lists delegations, newest runs first. A page can be shorter than the limit.",
    tag,
    role: "viewer",
    cost: 10,
    query: z.strictObject({
      ...pageQuery,
      runId: runId.optional(),
      open: flag.optional(),
      profile: profileName.optional(),
    }),
    reply: pageSchema(delegationRow),
    async handle({ query }, { runtime: { clock, store } }) {
      const { open, profile } = query;
      const after = placeIn(readCursor(tag, query, z.string().regex(placeForm)));
      const about = { open, profile, runId: query.runId, after, limit: limitOf(query) };
      const { found, next } = await listDelegations(store, about);
      const workers = askWorkersOnce(store);
      const known = new Map<RunState, boolean>();
      const items = [];
      for (const { delegation, run } of found) {
        const isInterrupted = known.get(run) ?? (await isRunInterrupted(store, run, workers));
        known.set(run, isInterrupted);
        const now = clock.now();
        items.push(await describeDelegation(store, run, delegation, { isInterrupted, now }));
      }
      return { items, nextCursor: next && encodeCursor(tag, textOf(next)) };
    },
  }),
  defineRoute({
    id: "getDelegation",
    method: "GET",
    path: "/delegations/:delegationId",
    summary: "Shows one delegation: its task, contract, receipt, evidence and result.",
    tag,
    role: "viewer",
    params,
    reply: delegationDetail,
    handle: ({ params: { delegationId: id } }, { runtime: { clock, store } }) =>
      detailOf(store, id, clock.now()),
  }),
  defineRoute({
    id: "cancelDelegation",
    method: "POST",
    path: "/delegations/:delegationId/cancel",
    summary: "Cancels a delegation and all delegations below it. It can be resumed.",
    tag,
    role: "operator",
    params,
    body: cancelBody,
    reply: cancelReply,
    handle: ({ body, params: { delegationId: id }, principal }, host) =>
      cancelWork(host, id, principal, body.reason),
  }),
  defineRoute({
    id: "resumeDelegation",
    method: "POST",
    path: "/delegations/:delegationId/resume",
    summary:
      "Resumes a delegation: an open one with its run, a cancelled or failed one as a new run.",
    tag,
    role: "operator",
    params,
    body: resumeBody,
    reply: resumedRun,
    status: 202,
    handle: ({ body, params: { delegationId: id }, principal }, host) =>
      resumeWork(host, id, principal, body),
  }),
  defineRoute({
    id: "answerDelegation",
    method: "POST",
    path: "/delegations/:delegationId/answer",
    summary: "Answers a question of a delegation. The first answer counts.",
    tag,
    role: "operator",
    params,
    body: z.strictObject({ askId: askId.optional(), text: answerText }),
    reply: answerReply,
    async handle({ body, params: { delegationId: id }, principal }, host) {
      const asked = body.askId ?? (await openAsk(host, id));
      await requireOwnAsk(host, id, asked);
      return answerQuestion(host, asked, body.text, principal);
    },
  }),
  defineRoute({
    id: "listMessages",
    method: "GET",
    path: "/delegations/:delegationId/messages",
    summary: "Lists the messages in the session of a delegation, oldest first.",
    tag,
    role: "viewer",
    params,
    query: z.strictObject(pageQuery),
    reply: pageSchema(messageEntry),
    async handle({ params: { delegationId: id }, query }, { runtime: { store } }) {
      const from = readCursor("messages", query, z.int().min(0)) ?? 0;
      const { entries } = await readSession(store, id);
      const end = from + limitOf(query);
      const nextCursor = end < entries.length ? encodeCursor("messages", end) : null;
      return { items: entries.slice(from, end), nextCursor };
    },
  }),
  defineRoute({
    id: "sendMessage",
    method: "POST",
    path: "/delegations/:delegationId/messages",
    summary: "Sends a message to an open delegation, which reads it before its next turn.",
    tag,
    role: "operator",
    params,
    body: sendBody,
    reply: sendReply,
    status: 202,
    handle: ({ body, isPage, params: { delegationId: id }, principal }, host) =>
      tellAgent(host, id, principal, { text: body.message, isTyped: isPage }),
  }),
  defineRoute({
    id: "listDelegationEvents",
    method: "GET",
    path: "/delegations/:delegationId/events",
    summary: "Lists the events of a delegation, in order.",
    tag,
    role: "viewer",
    params,
    query: eventQuery,
    reply: pageSchema(eventRow),
    async handle({ params: { delegationId: id }, query }, { runtime: { store } }) {
      await readRunOf(store, id);
      return eventPage(store, { delegationId: id }, query);
    },
  }),
  defineRoute({
    id: "getDelegationResult",
    method: "GET",
    path: "/delegations/:delegationId/result",
    summary: "Gives the result of a delegation, with those of its children; 409 while it is open.",
    tag,
    role: "viewer",
    params,
    reply: delegationResult,
    async handle({ params: { delegationId: id } }, { runtime: { engine, store } }) {
      await readRunOf(store, id);
      const result = await engine.resultOf(id);
      if (result !== null) return result;
      throw new MandateError("conflict", `Delegation ${id} is still open.`);
    },
  }),
  defineRoute({
    id: "readArtifact",
    method: "GET",
    path: "/delegations/:delegationId/artifacts/:hash",
    summary:
      "Reads a part of a large artifact: both ends, some lines, or the lines that contain a text.",
    tag,
    role: "viewer",
    params: z.object({ delegationId, hash }),
    query: z.strictObject({
      from: countIn(1, 1e9).optional().meta({ description: "The first line; from 1." }),
      lines: countIn(1, 1000)
        .optional()
        .meta({ description: "The number of lines; default: 100." }),
      search: z.string().min(1).max(1000).optional().meta({ description: "Case is ignored." }),
    }),
    reply: textPiece,
    async handle({ params: wanted, query }, { runtime: { store } }) {
      const { from, lines = 100, search } = query;
      if (search !== undefined && from !== undefined) {
        throw new MandateError("usage", 'Give "search" or "from", not both.');
      }
      const request: PieceRequest =
        search !== undefined
          ? { view: "search", query: search, lines }
          : from !== undefined
            ? { view: "slice", from, lines }
            : { view: "peek" };
      const text = await readNamedArtifact(store, wanted.delegationId, wanted.hash);
      return { hash: wanted.hash, ...pieceOf(text, request) };
    },
  }),
];

const placeForm = /^r[0-9a-f]{6,8}\/(?:[0-9a-f]{6,8})?$/;

function textOf({ delegationId: id, runId: run }: DelegationPlace): string {
  return `${run}/${id ?? ""}`;
}

function placeIn(text: string | undefined): DelegationPlace | undefined {
  if (text === undefined) return undefined;
  const [run = "", id = ""] = text.split("/");
  return { runId: run, delegationId: id === "" ? null : id };
}

/**
 * Refuses a question of another delegation. A closed question passes: answering it gives its own
 * error.
 */
async function requireOwnAsk({ runtime: { store } }: Host, id: string, ask: string): Promise<void> {
  const run = await readRunOf(store, id);
  const asking = [...run.delegations.values()].find((one) => openAskOf(one)?.id === ask);
  const isOwn = asking === undefined ? (await store.findRun(ask)) === run.id : asking.id === id;
  if (!isOwn) throw new MandateError("unknown-ask", `Delegation ${id} has no question ${ask}.`);
}

async function openAsk({ runtime: { store } }: Host, id: string): Promise<string> {
  const delegation = (await readRunOf(store, id)).delegations.get(id);
  const ask = delegation && openAskOf(delegation);
  if (ask) return ask.id;
  throw new MandateError("ask-closed", `Delegation ${id} has no open question.`);
}
