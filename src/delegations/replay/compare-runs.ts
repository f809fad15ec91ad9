import { isDeepStrictEqual } from "node:util";
import type { StoredEvent } from "../../events/event.ts";
import { type ComparableEvent, comparableEvents } from "./comparable-events.ts";
import { describeDifference } from "./describe-difference.ts";

/** Where two runs part, in one delegation. */
export interface RunDifference {
  /** The delegation's place in the tree, or that it is about the run itself. */
  readonly path: string;
  /** The first event that differs, in the log of each; null where it has none any more. */
  readonly seq: { readonly one: number | null; readonly other: number | null };
  readonly message: string;
}

export interface ComparisonOptions {
  /** How the two are called in sentences. */
  readonly names?: readonly [one: string, other: string];
  /** Tokens and costs count as well: for one and the same run, replayed. */
  readonly withAmounts?: boolean;
  /** The first one's log ends where nobody has written on: what the other has more is none. */
  readonly isUnfinished?: boolean;
}

/**
 * The first difference of each delegation of two runs, by its place in the tree. Times, ids,
 * sequence numbers, hashes and delays do not count. Nothing: they are the same.
 */
export function compareRuns(
  one: readonly StoredEvent[],
  other: readonly StoredEvent[],
  options: ComparisonOptions = {},
): readonly RunDifference[] {
  const { withAmounts = false } = options;
  const [left, right] = [comparableEvents(one, withAmounts), comparableEvents(other, withAmounts)];
  const paths = new Set([...left.keys(), ...right.keys()]);
  return [...paths].flatMap((path) => {
    const events = [left.get(path) ?? [], right.get(path) ?? []] as const;
    return firstDifference(path, events, options) ?? [];
  });
}

function firstDifference(
  path: string,
  [one, other]: readonly [readonly ComparableEvent[], readonly ComparableEvent[]],
  { isUnfinished = false, names = ["the first run", "the second"] }: ComparisonOptions,
): RunDifference | undefined {
  const length = isUnfinished ? one.length : Math.max(one.length, other.length);
  for (let index = 0; index < length; index++) {
    const [left, right] = [one[index], other[index]];
    if (left !== undefined && right !== undefined && isSame(left, right)) continue;
    const seq = { one: left?.seq ?? null, other: right?.seq ?? null };
    return { path, seq, message: describeDifference(left, right, { names, index }) };
  }
  return undefined;
}

function isSame(left: ComparableEvent, right: ComparableEvent): boolean {
  return left.type === right.type && isDeepStrictEqual(left.payload, right.payload);
}
