import { z } from "zod";
import {
  type LoggedRequest,
  modelRequests,
  type RequestPrompt,
} from "../../../application/model-requests.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { readRunOf } from "../../../sessions/read-run.ts";
import { headOf } from "../../../text.ts";
import { defineRoute } from "../route.ts";
import { pageOf, pageQuery, pageSchema, readCursor } from "./paging.ts";
import { countIn, delegationId, listOf, moment, plainData } from "./shared-schemas.ts";

/** One request to a model. Tokens are 0 until they are known. */
const modelRequestRow = z.object({
  request: z.number().meta({ description: "From 1, over all attempts." }),
  attempt: z.number(),
  at: moment,
  endedAt: moment.nullable(),
  outcome: z.enum(["open", "answered", "failed"]),
  model: z.string().meta({ description: "The model that was asked." }),
  served: z.string().nullable().meta({ description: "The model that answered." }),
  finishReason: z.string().nullable(),
  prompt: z.number(),
  completion: z.number(),
  cost: z.number(),
  estimated: z.boolean().meta({ description: "Tokens and cost are upper bounds." }),
  reserved: z.number().meta({ description: "Tokens reserved before it was sent." }),
  messages: z.number(),
  bytes: z.number(),
  tools: listOf(z.string()).meta({ description: "The tools that the answer calls." }),
  retry: z
    .object({ reason: z.string(), delayMs: z.number(), nextModel: z.string().nullable() })
    .nullable(),
});

const promptMessage = z.object({
  role: z.enum(["user", "assistant", "tool"]),
  text: z.string(),
  isCut: z.boolean(),
  tool: z.string().nullable().meta({ description: "Of a tool result." }),
  isError: z.boolean(),
  calls: listOf(z.object({ tool: z.string(), input: plainData<unknown>("Its input.") })),
});

export const modelRequestDetail = modelRequestRow.extend({
  system: z.string().nullable().meta({ description: "Null: the database has lost it." }),
  omitted: z.number().meta({ description: "Messages before those shown, which did not fit." }),
  conversation: listOf(promptMessage),
  text: z.string().meta({ description: "The answer." }),
  partial: z.string().nullable().meta({ description: "What was received before it failed." }),
  calls: listOf(z.object({ tool: z.string(), input: plainData<unknown>("Its input.") })),
});

const tag = "delegations";
const list = "model-requests";
const mostTools = 100;
const longestText = 200_000;
/** The longest prompt that is shown. Its latest messages are kept. */
const longestPrompt = 2_000_000;

export const modelRequestRoutes = [
  defineRoute({
    id: "listModelRequests",
    method: "GET",
    path: "/delegations/:delegationId/requests",
    summary: "Lists the requests of a delegation to models, oldest first.",
    tag,
    role: "viewer",
    cost: 5,
    params: z.object({ delegationId }),
    query: z.strictObject(pageQuery),
    reply: pageSchema(modelRequestRow),
    async handle({ params: { delegationId: id }, query }, { runtime: { store } }) {
      await readRunOf(store, id);
      const after = readCursor(list, query, z.int().min(0)) ?? 0;
      const { requests } = await modelRequests(store, id);
      const rows = requests.filter(({ request }) => request > after).map(rowOf);
      return pageOf(list, rows, query, ({ request }) => request);
    },
  }),
  defineRoute({
    id: "getModelRequest",
    method: "GET",
    path: "/delegations/:delegationId/requests/:request",
    summary: "Shows one request to a model: the prompt as it was sent, and the answer.",
    tag,
    role: "viewer",
    cost: 5,
    params: z.object({ delegationId, request: countIn(1, 1_000_000) }),
    reply: modelRequestDetail,
    async handle({ params: { delegationId: id, request: wanted } }, { runtime: { store } }) {
      await readRunOf(store, id);
      const { prompt, requests } = await modelRequests(store, id, wanted);
      const found = requests.find(({ request }) => request === wanted);
      if (found !== undefined && prompt !== undefined) return detailOf(found, prompt);
      throw new MandateError(
        "unknown-delegation",
        `Delegation ${id} has made no request ${wanted} to a model.`,
      );
    },
  }),
];

function rowOf(logged: LoggedRequest): z.infer<typeof modelRequestRow> {
  const { calls, partial: _partial, text: _text, ...row } = logged;
  return { ...row, tools: calls.slice(0, mostTools).map(({ name }) => name) };
}

function detailOf(
  logged: LoggedRequest,
  { messages, system }: RequestPrompt,
): z.infer<typeof modelRequestDetail> {
  const conversation: z.infer<typeof promptMessage>[] = [];
  let room = longestPrompt;
  for (const message of messages.toReversed()) {
    if (room <= 0) break;
    const text = headOf(message.text, Math.min(longestText, room));
    const calls = message.role === "assistant" ? message.calls.map(shownCall) : [];
    room -= text.length + JSON.stringify(calls).length;
    conversation.unshift({
      ...{ role: message.role, text, isCut: text.length < message.text.length, calls },
      tool: message.role === "tool" ? message.tool : null,
      isError: message.role === "tool" && message.isError,
    });
  }
  return {
    ...rowOf(logged),
    system: system === null ? null : headOf(system, longestText),
    omitted: messages.length - conversation.length,
    conversation,
    text: headOf(logged.text, longestText),
    partial: logged.partial === null ? null : headOf(logged.partial, longestText),
    calls: logged.calls.slice(0, mostTools).map(shownCall),
  };
}

function shownCall({ input, name: tool }: { readonly name: string; readonly input?: unknown }) {
  return { tool, input };
}
