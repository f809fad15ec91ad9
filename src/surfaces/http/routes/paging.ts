import { z } from "zod";
import { MandateError } from "../../../ports/mandate-error.ts";

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
    .meta({ description: `How many to give, 1 to ${mostPerPage}; ${defaultLimit} unless said.` }),
  cursor: z
    .string()
    .max(500)
    .optional()
    .meta({ description: "Where to go on: `nextCursor` of the page before." }),
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
 * One page of what was found. Ask for one more than the limit: that there is one says that there is
 * a next page. `positionOf` gives whatever finds the place of an item again.
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

/** A cursor names its list, so that one of another list is refused instead of misread. */
export function encodeCursor(list: string, position: string | number): string {
  return Buffer.from(JSON.stringify([list, position])).toString("base64url");
}

/**
 * The position behind a cursor, undefined where none was given. It is whatever a client sends: it
 * has to be of this list and of this shape, and it finds nothing that the list does not show anyway.
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
    `"cursor" is not one that this list gave. Take "nextCursor" of a page before, or leave it out to begin at the start.`,
  );
}

function decode(cursor: string): unknown {
  try {
    const text = Buffer.from(cursor, "base64url");
    // One spelling for each: what decodes leniently is not what we encoded.
    return text.toString("base64url") === cursor ? JSON.parse(text.toString()) : undefined;
  } catch {
    return undefined;
  }
}
