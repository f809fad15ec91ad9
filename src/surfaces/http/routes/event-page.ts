import { z } from "zod";
import type { EventType } from "../../../events/event.ts";
import { tellEvent } from "../../../events/summarize.ts";
import type { EventQuery, Store } from "../../../ports/store.ts";
import { encodeCursor, limitOf, type Page, type PageQuery, readCursor } from "./paging.ts";
import { moment, plainData } from "./shared-schemas.ts";

/** An event as it is stored, and one line about it. */
export const eventRow = z.object({
  seq: z.number(),
  run_seq: z.number(),
  run_id: z.string(),
  sub_agent_id: z.string().optional(),
  type: plainData<EventType>("Such as agent.subagent_created."),
  at: moment,
  summary: z.string(),
  payload: plainData<Readonly<Record<string, unknown>>>(
    "The details; their form goes by the type.",
  ),
  hash: z.string(),
});

export type EventRow = z.infer<typeof eventRow>;

/** Events hold outputs of tools: a page ends early where they are long. */
const mostCharacters = 4 * 1024 * 1024;
const list = "events";

/** Events in their order, from the beginning or after a place. */
export async function eventPage(
  store: Store,
  about: Pick<EventQuery, "runId" | "delegationId">,
  query: PageQuery & { readonly after?: number | undefined },
): Promise<Page<EventRow>> {
  const after = readCursor(list, query, z.int().min(0)) ?? query.after ?? 0;
  const items: EventRow[] = [];
  let characters = 0;
  for await (const event of store.readEvents({ ...about, after })) {
    const last = items.at(-1);
    const isFull = items.length === limitOf(query) || characters > mostCharacters;
    if (isFull && last) return { items, nextCursor: encodeCursor(list, last.seq) };
    items.push(tellEvent(event) as unknown as EventRow);
    characters += JSON.stringify(event.payload).length;
  }
  return { items, nextCursor: null };
}
