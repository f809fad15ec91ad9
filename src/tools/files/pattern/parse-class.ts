import { type CharacterSet, characterSet, negateSet } from "./character-set.ts";
import { parseEscape, refuseLineBreak } from "./parse-escape.ts";
import type { PatternReader } from "./pattern-reader.ts";
import { namedSet } from "./unicode-sets.ts";

/**
 * What stands between brackets; the first one has been taken. A `[` inside is the character itself,
 * as in most languages; the set operations of a few are refused, since elsewhere they would quietly
 * mean something else.
 */
export function parseClass(reader: PatternReader, fold: (set: CharacterSet) => CharacterSet) {
  const isNegated = reader.takeIf("^");
  const ranges: number[] = [];
  for (let isFirst = true; isFirst || reader.peek() !== "]"; isFirst = false) {
    if (reader.isAtEnd) throw reader.refuse("a [ has no ]. Write \\[ for the bracket itself");
    if (reader.takeMatching(/(?:&&|--|~~)(?=\[)/y) !== null) {
      throw reader.refuse("classes cannot be combined with &&, -- or ~~. Write the ranges out");
    }
    ranges.push(...parseItem(reader));
  }
  reader.take();
  // Folded before it is negated: [^a] without regard to case means neither a nor A.
  const set = fold(characterSet(ranges));
  return isNegated ? negateSet(set) : set;
}

function parseItem(reader: PatternReader): CharacterSet {
  const from = parseMember(reader);
  const isRange = reader.peek() === "-" && !["]", ""].includes(charAfter(reader));
  if (!isRange || from.length !== 2 || from[0] !== from[1]) return from;
  const start = reader.position;
  reader.take();
  const to = parseMember(reader);
  const [low = 0] = from;
  const [high = 0, highEnd = 0] = to;
  if (to.length === 2 && high === highEnd && low <= high) return [low, high];
  reader.position = start;
  throw reader.refuse("a range goes from a character to a later one, as in [a-z]");
}

function parseMember(reader: PatternReader): CharacterSet {
  const named = reader.takeMatching(/\[:(\^?)(\w{1,10}):\]/y);
  if (named !== null) {
    const set = namedSet(named[2] ?? "");
    if (set === undefined) throw reader.refuse(`[:${named[2]}:] is not known`);
    return named[1] === "^" ? negateSet(set) : set;
  }
  const character = reader.take();
  if (character === "\\") return reader.takeIf("b") ? [8, 8] : parseEscape(reader);
  if (character === "\n") throw refuseLineBreak();
  const codePoint = character.codePointAt(0) ?? 0;
  return [codePoint, codePoint];
}

function charAfter(reader: PatternReader): string {
  return reader.text[reader.position + 1] ?? "";
}
