import { isDeepStrictEqual } from "node:util";
import type { StoredEvent } from "../../events/event.ts";
import { clip, tailOf } from "../../text.ts";
import { type ComparableEvent, comparableEvents } from "./comparable-events.ts";

/** The first difference between two runs in one delegation. */
export interface RunDifference {
  /** The delegation's path in the tree, or `the run itself`. */
  readonly path: string;
  /** The number of the first event that differs, in each log; null where that log has ended. */
  readonly seq: { readonly one: number | null; readonly other: number | null };
  readonly message: string;
}

export interface ComparisonOptions {
  /** The names of the two runs in messages. */
  readonly names?: readonly [one: string, other: string];
  /** Compares tokens and costs as well. For a run and its own replay. */
  readonly withAmounts?: boolean;
  /** The first run is still open: further events of the other one are no difference. */
  readonly isUnfinished?: boolean;
}

/**
 * The first difference of each delegation of two runs, by its path in the tree. Times, ids, sequence
 * numbers, hashes and delays are not compared. Empty when the runs are equal.
 *
 * @example const differences = compareRuns(eventsOfOne, eventsOfOther);
 */
export function compareRuns(
  one: readonly StoredEvent[],
  other: readonly StoredEvent[],
  options: ComparisonOptions = {},
): readonly RunDifference[] {
  const [left, right] = [comparableEvents(one, options), comparableEvents(other, options)];
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

export interface DifferenceNames {
  readonly names: readonly [one: string, other: string];
  /** The index of the event among those of its delegation. */
  readonly index: number;
}

/** One sentence about the difference between two events. */
function describeDifference(
  one: ComparableEvent | undefined,
  other: ComparableEvent | undefined,
  { index, names: [first, second] }: DifferenceNames,
): string {
  const which = `event ${index + 1}`;
  if (one === undefined || other === undefined) {
    const [longer, shorter] = one === undefined ? [second, first] : [first, second];
    const type = (one ?? other)?.type ?? "";
    if (index === 0) return `it exists only in ${longer}.`;
    return `${which} is ${type} in ${longer}; ${shorter} ends before it.`;
  }
  if (one.type !== other.type)
    return `${which} is ${one.type} in ${first} and ${other.type} in ${second}.`;
  const { left, path, right } = deepest(one.payload, other.payload);
  const field = path.length === 0 ? "the payload" : path.join(".");
  const [said, instead] = shownBoth(left, right);
  return `${which}, ${one.type}: ${field} is ${said} in ${first} and ${instead} in ${second}.`;
}

interface Place {
  readonly path: readonly string[];
  readonly left: unknown;
  readonly right: unknown;
}

/** The innermost first field that differs. */
function deepest(left: unknown, right: unknown, path: readonly string[] = []): Place {
  if (!isContainer(left) || !isContainer(right)) return { path, left, right };
  if (Array.isArray(left) !== Array.isArray(right)) return { path, left, right };
  const keys = new Set([...Object.keys(left), ...Object.keys(right)]);
  const key = [...keys].find((each) => !isDeepStrictEqual(left[each], right[each]));
  return key === undefined ? { path, left, right } : deepest(left[key], right[key], [...path, key]);
}

function isContainer(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** The JSON of both values. Long texts are cut around the first difference. */
function shownBoth(left: unknown, right: unknown): readonly [string, string] {
  const [one, other] = [written(left), written(right)];
  if (one.length <= longest && other.length <= longest) return [one, other];
  let same = 0;
  while (same < one.length && one[same] === other[same]) same++;
  const from = Math.max(0, same - before);
  const cut = (text: string): string => {
    const rest = tailOf(text, text.length - from);
    return `${from > 0 ? "…" : ""}${clip(rest, longest + 1)}`;
  };
  return [cut(one), cut(other)];
}

function written(value: unknown): string {
  return value === undefined ? "absent" : JSON.stringify(value);
}

const longest = 120;
const before = 30;
