import { z } from "zod";
import { Memories } from "../../../application/memories.ts";
import type { Memory } from "../../../ports/memory-store.ts";
import { defineRoute } from "../route.ts";
import { encodeCursor, limitOf, pageQuery, pageSchema, readCursor } from "./paging.ts";
import { flag, listOf, memoryId, moment } from "./shared-schemas.ts";

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

const memoryDecision = z.object({
  status: z.enum(["promoted", "forgotten", "unchanged"]),
  memory: memoryRow,
});

const tag = "memory";
const params = z.object({ memoryId });

export const memoryRoutes = [
  defineRoute({
    id: "listMemories",
    method: "GET",
    path: "/memory",
    summary: "Lists the memories of agents, latest or best matches first.",
    tag,
    role: "viewer",
    query: z.strictObject({
      ...pageQuery,
      text: z.string().max(1000).optional().meta({ description: "Words, of which any may match." }),
      tag: z.string().max(200).optional(),
      all: flag.optional().meta({ description: "Also forgotten and replaced memories." }),
    }),
    reply: pageSchema(memoryRow),
    async handle({ principal, query }, { runtime: { store } }) {
      const offset = readCursor(tag, query, z.int().min(0).max(100_000)) ?? 0;
      const limit = limitOf(query);
      const found = await new Memories(store, principal).list({
        text: query.text,
        all: query.all,
        ...(query.tag !== undefined && { tags: [query.tag.toLowerCase()] }),
        limit: limit + 1,
        offset,
      });
      const nextCursor = found.length > limit ? encodeCursor(tag, offset + limit) : null;
      return { items: found.slice(0, limit).map(rowOf), nextCursor };
    },
  }),
  defineRoute({
    id: "getMemory",
    method: "GET",
    path: "/memory/:memoryId",
    summary: "Shows one memory.",
    tag,
    role: "viewer",
    params,
    reply: memoryRow,
    handle: async ({ params: { memoryId: id }, principal }, { runtime: { store } }) =>
      rowOf(await new Memories(store, principal).show(id)),
  }),
  ...(["promote", "forget"] as const).map((word) =>
    defineRoute({
      id: `${word}Memory`,
      method: "POST",
      path: `/memory/:memoryId/${word}`,
      summary:
        word === "promote"
          ? "Makes a memory visible to every agent in its workspace."
          : "Hides a memory from all agents, permanently.",
      tag,
      role: "operator",
      params,
      reply: memoryDecision,
      async handle({ params: { memoryId: id }, principal }, { runtime: { store } }) {
        const { memory, status } = await new Memories(store, principal)[word](id);
        return { status, memory: rowOf(memory) };
      },
    }),
  ),
];

function rowOf({ callId: _call, lineage: _lineage, ...memory }: Memory): z.infer<typeof memoryRow> {
  return memory;
}
