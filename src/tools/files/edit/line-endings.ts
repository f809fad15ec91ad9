const newline = 10;
const carriageReturn = 13;

/** A content whose lines all end in a line feed, and the way back from a place in it. */
export interface UnifiedContent {
  readonly bytes: Buffer;
  /** Where a place in `bytes` lies in the content as it is. */
  original(place: number): number;
}

/** Copies only where there is something to unify. */
export function unifyLineEndings(content: Buffer): UnifiedContent {
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
    // The one with number n stood at its own place less the n that were taken out before it.
    if ((removed[middle] ?? 0) - middle < place) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Tells whether lines end in carriage return and line feed at a place, or else before it. Places
 * have to be asked for in order: a line is looked for once, however many of them it holds.
 */
export function returnsFinder(content: Buffer): (place: number) => boolean {
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
