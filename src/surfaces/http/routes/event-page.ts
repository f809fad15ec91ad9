import { z } from "zod";
import type { EventType } from "../../../events/event.ts";
import { tellEvent } from "../../../events/summarize.ts";
import type { EventQuery, Store } from "../../../ports/store.ts";
import { encodeCursor, limitOf, type Page, pageQuery, readCursor } from "./paging.ts";
import { countIn, moment, plainData } from "./shared-schemas.ts";

/** A stored event with a one-line summary. */
export const eventRow = z.object({
  seq: z.number(),
  run_seq: z.number(),
  run_id: z.string(),
  sub_agent_id: z.string().optional(),
  type: plainData<EventType>("For example agent.subagent_created."),
  at: moment,
  summary: z.string(),
  payload: plainData<Readonly<Record<string, unknown>>>("The details, by type."),
  hash: z.string(),
});

export type EventRow = z.infer<typeof eventRow>;

/** Events contain tool outputs, so a page of long events ends early. */
const mostCharacters = 4 * 1024 * 1024;
const list = "events";

/** `after`: the events with a greater sequence number. */
export const eventQuery = z.strictObject({
  ...pageQuery,
  after: countIn(0, Number.MAX_SAFE_INTEGER).optional(),
});

/** A page of events in order, from the start or after a position. */
export async function eventPage(
  store: Store,
  about: Pick<EventQuery, "runId" | "delegationId">,
  query: z.infer<typeof eventQuery>,
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
