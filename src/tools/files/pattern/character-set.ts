/**
 * A set of code points as inclusive ranges in one flat list, `[from, to, from, to, …]`, sorted and
 * apart from each other. Both engines get the same list, so neither's idea of Unicode matters.
 */
export type CharacterSet = readonly number[];

export const lastCodePoint = 0x10ffff;

/** Any list of ranges, brought into order. */
export function characterSet(ranges: readonly number[]): CharacterSet {
  const pairs: [number, number][] = [];
  for (let index = 0; index + 1 < ranges.length; index += 2) {
    pairs.push([ranges[index] ?? 0, ranges[index + 1] ?? 0]);
  }
  pairs.sort(([left], [right]) => left - right);
  const set: number[] = [];
  for (const [from, to] of pairs) {
    const end = set.at(-1);
    if (end === undefined || from > end + 1) set.push(from, to);
    else if (to > end) set[set.length - 1] = to;
  }
  return set;
}

export function negateSet(set: CharacterSet): CharacterSet {
  const rest: number[] = [];
  let next = 0;
  for (let index = 0; index + 1 < set.length; index += 2) {
    const from = set[index] ?? 0;
    if (from > next) rest.push(next, from - 1);
    next = (set[index + 1] ?? 0) + 1;
  }
  if (next <= lastCodePoint) rest.push(next, lastCodePoint);
  return rest;
}

export function withoutSet(set: CharacterSet, removed: CharacterSet): CharacterSet {
  return negateSet(characterSet([...negateSet(set), ...removed]));
}

export function hasCodePoint(set: CharacterSet, codePoint: number): boolean {
  let low = 0;
  let high = set.length / 2;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (codePoint > (set[middle * 2 + 1] ?? 0)) low = middle + 1;
    else high = middle;
  }
  return low * 2 < set.length && codePoint >= (set[low * 2] ?? 0);
}
