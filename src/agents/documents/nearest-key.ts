import { MandateError } from "../../ports/mandate-error.ts";
import { headOf } from "../../text.ts";

/**
 * The known key that a misspelt key most likely means. Undefined when none is similar: a wrong
 * suggestion is worse than none. `atMost`: the most typing errors, fewer for a short key.
 * @example nearestKey("maxDetph", ["maxDepth", "model"]) // "maxDepth"
 */
export function nearestKey(key: string, known: Iterable<string>, atMost = 3): string | undefined {
  const wanted = normalise(key);
  // A pasted paragraph must not be compared with every known key, which takes quadratic time.
  if (wanted.length > 64) return undefined;
  let best: string | undefined;
  let bestDistance = Math.min(atMost, Math.max(1, Math.floor(wanted.length / 3))) + 1;
  for (const candidate of known) {
    if (candidate.length > 64) continue;
    const distance = editDistance(wanted, normalise(candidate));
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** `maxTokens`, `max_tokens` and `max-tokens` are the same key to a person. */
function normalise(key: string): string {
  return key.replaceAll(/[-_]/g, "").toLowerCase();
}

/**
 * The number of insertions, deletions, replacements and swaps of neighbours between two texts
 * (optimal string alignment).
 */
function editDistance(left: string, right: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const same = left[row - 1] === right[column - 1];
      let cost = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (same ? 0 : 1),
      );
      const swapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      if (row > 1 && column > 1 && swapped) cost = Math.min(cost, at(beforeLast, column - 2) + 1);
      current.push(cost);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, right.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}

/** Every key of an options type: the compiler reports a key that is missing or was removed. */
export type Keys<Options> = Readonly<Record<keyof Options, true>>;

/**
 * Throws for an unknown key: an ignored limit with a typo is no limit. In JavaScript no compiler
 * reports it.
 */
export function requireKnownKeys(call: string, given: unknown, known: object): void {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    const kind = given === null ? "null" : Array.isArray(given) ? "a list" : typeof given;
    throw new MandateError("usage", `${call} takes an object, not ${kind}.`);
  }
  for (const key of Object.keys(given)) {
    if (Object.hasOwn(known, key)) continue;
    const keys = Object.keys(known);
    const nearest = nearestKey(key, keys);
    const hint = nearest ? `Did you mean "${nearest}"?` : `It takes: ${keys.join(", ")}.`;
    throw new MandateError("usage", `${call}: "${headOf(key, 80)}" is not known here. ${hint}`);
  }
}
