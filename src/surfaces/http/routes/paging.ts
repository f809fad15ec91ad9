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
