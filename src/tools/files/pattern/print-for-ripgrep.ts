import { type CharacterSet, withoutSet } from "./character-set.ts";
import type { Assertion, PatternNode } from "./pattern-node.ts";

/** One argument of a program can hold 128 KB on Linux; a longer pattern is left to our own matcher. */
const longest = 100_000;

/**
 * The pattern in ripgrep's words, for lines with their line end: it may find more than the pattern
 * means and never less, since what it finds is looked at again. Null when it cannot be said.
 */
export function printForRipgrep(node: PatternNode): string | null {
  let length = 0;
  let isSayable = true;

  function print(part: PatternNode, place: Place): string {
    const text = isSayable ? printPart(part, place) : "";
    length += text.length;
    if (length > longest * 4) isSayable = false;
    return text;
  }

  function printPart(part: PatternNode, place: Place): string {
    switch (part.kind) {
      case "one": {
        const text = printSet(part.of);
        if (text === null) isSayable = false;
        return text ?? "";
      }
      case "assert":
        return printAssertion(part.that, place);
      case "sequence":
        return part.parts
          .map((each, index) => {
            const isFirst = place.isFirst && index === 0;
            const isLast = place.isLast && index === part.parts.length - 1;
            const text = print(each, { isFirst, isLast });
            return each.kind === "choice" ? `(?:${text})` : text;
          })
          .join("");
      case "choice":
        return part.options.map((option) => print(option, place)).join("|");
      case "repeat": {
        const { least, most } = part;
        const count = most === null ? `{${least},}` : `{${least},${most}}`;
        return `(?:${print(part.part, inside)})${count}`;
      }
      default:
        return part satisfies never;
    }
  }

  const text = print(node, { isFirst: true, isLast: true });
  return isSayable && text.length <= longest ? text : null;
}

/** Whether a part begins the pattern, and whether it ends it. */
interface Place {
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

const inside: Place = { isFirst: false, isLast: false };

/**
 * A byte order mark at the beginning and a carriage return at the end do not belong to a line, and
 * ripgrep is given both. Left open is what its versions do not agree about: the ends of a line in
 * the middle of a pattern, and what is no edge of a word.
 */
function printAssertion(that: Assertion, { isFirst, isLast }: Place): string {
  if (that === "line-start") return isFirst ? "^\\x{FEFF}?" : "";
  if (that === "line-end") return isLast ? "\\r?$" : "";
  return that === "word-edge" ? "\\b" : "";
}

/** Null for a set without members, which older versions refuse. */
function printSet(set: CharacterSet): string | null {
  const members = withoutSet(set, [10, 10, 0xd800, 0xdfff]);
  if (members.length === 0) return null;
  const [from = 0, to = 0] = members;
  if (members.length === 2 && from === to) return printCharacter(from);
  const ranges: string[] = [];
  for (let index = 0; index < members.length; index += 2) {
    ranges.push(
      `${printCharacter(members[index] ?? 0)}-${printCharacter(members[index + 1] ?? 0)}`,
    );
  }
  return `[${ranges.join("")}]`;
}

function printCharacter(codePoint: number): string {
  const text = String.fromCodePoint(codePoint);
  return /^[A-Za-z0-9]$/.test(text) ? text : `\\x{${codePoint.toString(16).toUpperCase()}}`;
}
