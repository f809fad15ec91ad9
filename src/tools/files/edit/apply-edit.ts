export interface EditRequest {
  readonly oldText: string;
  readonly newText: string;
  readonly replaceAll: boolean;
  /** How many bytes the new content may have. */
  readonly largest: number;
}

/** A piece of the old content and how long what takes its place is. */
export interface ReplacedRegion {
  readonly start: number;
  readonly end: number;
  readonly newLength: number;
}

export type EditOutcome =
  | {
      readonly kind: "applied";
      readonly content: Buffer;
      readonly regions: readonly ReplacedRegion[];
    }
  /** Where it begins, in the old content; at most `mostCounted` of them. */
  | { readonly kind: "ambiguous"; readonly places: readonly number[] }
  | { readonly kind: "missing" }
  | { readonly kind: "unchanged" }
  | { readonly kind: "too-many" }
  | { readonly kind: "too-large"; readonly size: number };

export const mostCounted = 1000;
const mostReplaced = 100_000;
const byteOrderMark = "\ufeff";

/**
 * Replaces a text byte by byte, so that all other bytes stay as they are, valid UTF-8 or not. Line
 * endings are not compared: the new text gets the line endings of the place where it is inserted.
 * A byte order mark is not part of the text.
 */
export function applyEdit(content: Buffer, request: EditRequest): EditOutcome {
  const oldText = unify(request.oldText);
  const newText = unify(request.newText);
  if (oldText === newText) return { kind: "unchanged" };
  if (oldText === "") return { kind: "missing" };
  const sought = Buffer.from(oldText);
  const unified = unifyLineEndings(content);
  const most = request.replaceAll ? mostReplaced + 1 : mostCounted;
  const found = findOccurrences(unified.bytes, sought, most);
  if (found.length === 0) return { kind: "missing" };
  if (found.length > 1 && !request.replaceAll) {
    return { kind: "ambiguous", places: found.map(unified.original) };
  }
  if (found.length > mostReplaced) return { kind: "too-many" };
  const hasReturnsAt = returnsFinder(content);
  const regions = withoutOverlaps(found, sought.length).map((place) => {
    const start = unified.original(place);
    const end = unified.original(place + sought.length);
    return { start, end, hasReturns: hasReturnsAt(start) };
  });
  const fresh = Buffer.from(newText);
  const freshWithReturns = Buffer.from(newText.replaceAll("\n", "\r\n"));
  const pick = (hasReturns: boolean) => (hasReturns ? freshWithReturns : fresh);
  let size = content.length;
  for (const { start, end, hasReturns } of regions) size += pick(hasReturns).length - (end - start);
  // Checked before concatenation: a large text inserted many times would not fit into memory.
  if (size > request.largest) return { kind: "too-large", size };
  const parts: Buffer[] = [];
  let done = 0;
  for (const { start, end, hasReturns } of regions) {
    parts.push(content.subarray(done, start), pick(hasReturns));
    done = end;
  }
  parts.push(content.subarray(done));
  return {
    kind: "applied",
    content: Buffer.concat(parts, size),
    regions: regions.map(({ start, end, hasReturns }) => {
      return { start, end, newLength: pick(hasReturns).length };
    }),
  };
}

function unify(text: string): string {
  const withoutMark = text.startsWith(byteOrderMark) ? text.slice(1) : text;
  return withoutMark.replaceAll("\r\n", "\n");
}

function withoutOverlaps(places: readonly number[], length: number): readonly number[] {
  let end = 0;
  return places.filter((place) => {
    if (place < end) return false;
    end = place + length;
    return true;
  });
}

/**
 * Where a text occurs, overlaps included, up to `most` times. Knuth-Morris-Pratt: linear time for
 * hostile input too, where other fast searches degrade to the product of both lengths.
 */
function findOccurrences(content: Uint8Array, sought: Uint8Array, most: number): number[] {
  const found: number[] = [];
  const borders = bordersOf(sought);
  let matched = 0;
  for (let at = 0; at < content.length; at += 1) {
    const byte = content[at];
    while (matched > 0 && sought[matched] !== byte) matched = borders[matched - 1] ?? 0;
    if (sought[matched] === byte) matched += 1;
    if (matched < sought.length) continue;
    found.push(at - matched + 1);
    if (found.length >= most) return found;
    matched = borders[matched - 1] ?? 0;
  }
  return found;
}

/** For each prefix, the length of the longest proper prefix that is also its suffix. */
function bordersOf(sought: Uint8Array): Int32Array {
  const borders = new Int32Array(sought.length);
  for (let at = 1, length = 0; at < sought.length; at += 1) {
    while (length > 0 && sought[at] !== sought[length]) length = borders[length - 1] ?? 0;
    if (sought[at] === sought[length]) length += 1;
    borders[at] = length;
  }
  return borders;
}

const newline = 10;
const carriageReturn = 13;

/** A content whose lines all end in a line feed, and the way back from a place in it. */
interface UnifiedContent {
  readonly bytes: Buffer;
  /** The place in the original content for a place in `bytes`. */
  original(place: number): number;
}

/** Copies only where there is something to unify. */
function unifyLineEndings(content: Buffer): UnifiedContent {
  const removed: number[] = [];
  for (let at = content.indexOf("\r\n"); at >= 0; at = content.indexOf("\r\n", at + 2)) {
    removed.push(at);
  }
  if (removed.length === 0) return { bytes: content, original: (place) => place };
  const bytes = Buffer.allocUnsafe(content.length - removed.length);
  let from = 0;
  for (const [index, at] of [...removed, content.length].entries()) {
    content.copy(bytes, from - index, from, at);
    from = at + 1;
  }
  return { bytes, original: (place) => place + countBefore(removed, place) };
}

/** How many carriage returns were taken out before a place in the unified content. */
function countBefore(removed: readonly number[], place: number): number {
  let low = 0;
  let high = removed.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    // Carriage return number n is at its original place minus the n removed before it.
    if ((removed[middle] ?? 0) - middle < place) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Whether the line at a place, or the last line before it, ends in carriage return and line feed.
 * Places must be asked for in ascending order, so that each line end is searched once.
 */
function returnsFinder(content: Buffer): (place: number) => boolean {
  let end = -1;
  let isLast = false;
  return (place) => {
    if (place > end && !isLast) {
      end = content.indexOf(newline, place);
      isLast = end < 0;
      if (isLast) end = content.lastIndexOf(newline);
    }
    return end > 0 && content[end - 1] === carriageReturn;
  };
}
