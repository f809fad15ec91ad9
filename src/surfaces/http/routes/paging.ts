import { z } from "zod";
import type { EventType } from "../../../events/event.ts";
import { tellEvent } from "../../../events/summarize.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { EventQuery, Store } from "../../../ports/store.ts";
import { countIn, moment, plainData } from "./shared-schemas.ts";

const defaultLimit = 50;
const mostPerPage = 200;

/** The query parameters of every list: `z.strictObject({ ...pageQuery, … })`. */
export const pageQuery = {
  limit: z
    .string()
    .regex(/^[0-9]{1,3}$/, `a whole number from 1 to ${mostPerPage}`)
    .transform(Number)
    .pipe(z.number().int().min(1).max(mostPerPage))
    .optional()
    .meta({ description: `Items per page, 1 to ${mostPerPage}; default: ${defaultLimit}.` }),
  cursor: z
    .string()
    .max(500)
    .optional()
    .meta({ description: "`nextCursor` of the previous page." }),
};

export interface PageQuery {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

/** The shape of a page, for the reply of a route. */
export function pageSchema<Item extends z.ZodType>(item: Item) {
  return z.strictObject({ items: z.array(item).readonly(), nextCursor: z.string().nullable() });
}

export function limitOf(query: PageQuery): number {
  return Math.min(query.limit ?? defaultLimit, mostPerPage);
}

/**
 * Makes a page. `found` must hold one item more than the limit when there is a next page.
 * `positionOf` gives the position of an item, for the cursor.
 */
export function pageOf<Item>(
  list: string,
  found: readonly Item[],
  query: PageQuery,
  positionOf: (item: Item) => string | number,
): Page<Item> {
  const limit = limitOf(query);
  const items = found.slice(0, limit);
  const last = items.at(-1);
  const hasMore = found.length > limit && last !== undefined;
  return { items, nextCursor: hasMore ? encodeCursor(list, positionOf(last)) : null };
}

/** A cursor contains the name of its list, so that a cursor of another list is refused. */
export function encodeCursor(list: string, position: string | number): string {
  return Buffer.from(JSON.stringify([list, position])).toString("base64url");
}

/**
 * The position in a cursor; undefined: no cursor was given. Cursors are untrusted: list and shape
 * are checked, and a position never reveals more than the list does.
 */
export function readCursor<Position extends string | number>(
  list: string,
  query: PageQuery,
  position: z.ZodType<Position>,
): Position | undefined {
  if (query.cursor === undefined) return undefined;
  const parsed = z.tuple([z.literal(list), position]).safeParse(decode(query.cursor));
  if (parsed.success) return parsed.data[1];
  throw new MandateError(
    "usage",
    `"cursor" is not a cursor of this list. Use "nextCursor" of the previous page, or omit it to start from the beginning.`,
  );
}

function decode(cursor: string): unknown {
  try {
    const text = Buffer.from(cursor, "base64url");
    // Decoding is lenient, so the text must equal its own re-encoding.
    return text.toString("base64url") === cursor ? JSON.parse(text.toString()) : undefined;
  } catch {
    return undefined;
  }
}

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
