import { type CharacterSet, characterSet, negateSet, withoutSet } from "./character-set.ts";
import { classEnd } from "./expand-braces.ts";
import type { PatternNode } from "./pattern-node.ts";
import { namedSet } from "./unicode-sets.ts";

const slash: CharacterSet = [0x2f, 0x2f];
const anything: CharacterSet = negateSet([]);
const inSegment: PatternNode = { kind: "one", of: withoutSet(anything, slash) };
const lineStart: PatternNode = { kind: "assert", that: "line-start" };
const lineEnd: PatternNode = { kind: "assert", that: "line-end" };

/** Any folders, none included: what `**` and the slash after it stand for. */
const anyFolders = repeat(sequence(repeat(inSegment, 1), { kind: "one", of: slash }));

/**
 * A glob as a pattern over a whole path: `*` and `?` stay within a segment, `**` as a segment is any
 * number of folders, `[a-z]` and `[!a-z]` are one character. Braces are expanded before.
 */
export function globNode(glob: string): PatternNode {
  const segments = glob.split("/");
  const parts: PatternNode[] = [lineStart];
  for (const [index, segment] of segments.entries()) {
    const isLast = index === segments.length - 1;
    if (segment === "**") {
      // At the end it is everything below, and there has to be something.
      parts.push(isLast ? repeat({ kind: "one", of: anything }, 1) : anyFolders);
      continue;
    }
    parts.push(...segmentParts(segment));
    if (!isLast) parts.push({ kind: "one", of: slash });
  }
  return sequence(...parts, lineEnd);
}

function segmentParts(segment: string): readonly PatternNode[] {
  const parts: PatternNode[] = [];
  for (let at = 0; at < segment.length; at += 1) {
    const character = segment[at] ?? "";
    if (character === "*") {
      while (segment[at + 1] === "*") at += 1;
      parts.push(repeat(inSegment));
    } else if (character === "?") parts.push(inSegment);
    else if (character === "[" && classEnd(segment, at) > at) {
      const end = classEnd(segment, at);
      parts.push({ kind: "one", of: withoutSet(classSet(segment.slice(at + 1, end)), slash) });
      at = end;
    } else {
      if (character === "\\" && at + 1 < segment.length) at += 1;
      const codePoint = segment.codePointAt(at) ?? 0;
      at += codePoint > 0xffff ? 1 : 0;
      parts.push({ kind: "one", of: [codePoint, codePoint] });
    }
  }
  return parts;
}

function classSet(inside: string): CharacterSet {
  const isNegated = /^[!^]/.test(inside);
  const ranges: number[] = [];
  const members = /\[:(?<name>\w+):\]|(?<from>\\?.)(?:-(?<to>\\?.))?/gsu;
  for (const { groups } of inside.slice(isNegated ? 1 : 0).matchAll(members)) {
    if (groups?.["name"] !== undefined) ranges.push(...(namedSet(groups["name"]) ?? []));
    else {
      const from = codePointOf(groups?.["from"] ?? "");
      const to = groups?.["to"] === undefined ? from : codePointOf(groups["to"]);
      // A reversed range holds nothing.
      if (from <= to) ranges.push(from, to);
    }
  }
  const set = characterSet(ranges);
  return isNegated ? negateSet(set) : set;
}

function codePointOf(member: string): number {
  return (
    (member.length > 1 && member.startsWith("\\") ? member.slice(1) : member).codePointAt(0) ?? 0
  );
}

function sequence(...parts: readonly PatternNode[]): PatternNode {
  return { kind: "sequence", parts };
}

function repeat(part: PatternNode, least = 0): PatternNode {
  return { kind: "repeat", part, least, most: null };
}
