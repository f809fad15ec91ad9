import { findOccurrences } from "./find-occurrences.ts";
import { returnsFinder, unifyLineEndings } from "./line-endings.ts";

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
 * Replaces a text in a content byte by byte, so that whatever is not replaced stays as it is, valid
 * UTF-8 or not. Line endings are not compared: the file keeps its own, and the new text gets those
 * of the place it comes to. A byte order mark is not part of the text.
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
  // Before anything is put together: a large text many times over is more than memory holds.
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
