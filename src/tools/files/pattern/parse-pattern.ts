import { type CharacterSet, negateSet } from "./character-set.ts";
import { foldCase, foldCharacter } from "./fold-case.ts";
import { parseClass } from "./parse-class.ts";
import { parseEscape, refuseLineBreak } from "./parse-escape.ts";
import { type Assertion, nothing, type PatternNode } from "./pattern-node.ts";
import { PatternReader } from "./pattern-reader.ts";

const deepest = 100;
const mostRepetitions = 1000;

/**
 * Reads a regular expression. The language is what ripgrep and JavaScript have in common and mean
 * alike, read a little more kindly (`interface{}` is not a repetition). Everything else is refused
 * here, before any engine sees it, so that a pattern means the same on every machine.
 */
export function parsePattern(text: string, ignoreCase: boolean): PatternNode {
  const reader = new PatternReader(text);
  const node = parseChoice(reader, ignoreCase, 0);
  if (!reader.isAtEnd) throw reader.refuse("a ) has no (. Write \\) for the parenthesis itself");
  return node;
}

function parseChoice(reader: PatternReader, ignoreCase: boolean, depth: number): PatternNode {
  if (depth > deepest) throw reader.refuse("its groups are nested too deeply");
  const options: PatternNode[] = [];
  let foldsCase = ignoreCase;
  do {
    const parts: PatternNode[] = [];
    while (!reader.isAtEnd && reader.peek() !== "|" && reader.peek() !== ")") {
      const flags = reader.takeMatching(/\(\?(-?[ims]+)\)/y);
      if (flags === null) parts.push(parseRepeated(reader, foldsCase, depth));
      else foldsCase = applyFlags(flags[1] ?? "", foldsCase);
    }
    options.push(parts.length === 1 ? (parts[0] ?? nothing) : { kind: "sequence", parts });
  } while (reader.takeIf("|"));
  return options.length === 1 ? (options[0] ?? nothing) : { kind: "choice", options };
}

/** `m` and `s` change nothing where every line is looked at alone. */
function applyFlags(flags: string, ignoreCase: boolean): boolean {
  return flags.includes("i") ? !flags.startsWith("-") : ignoreCase;
}

function parseRepeated(reader: PatternReader, ignoreCase: boolean, depth: number): PatternNode {
  const part = parseOne(reader, ignoreCase, depth);
  const count = parseCount(reader);
  if (count === undefined) return part;
  if (part.kind === "assert") throw reader.refuse("^, $ and \\b cannot be repeated");
  reader.takeIf("?"); // Lazy or not: a line matches either way.
  if (reader.takeIf("+"))
    throw reader.refuse("possessive repetition (+ after a count) is not known");
  if (parseCount(reader) !== undefined) throw reader.refuse("two repetitions follow each other");
  return { kind: "repeat", part, ...count };
}

interface Count {
  readonly least: number;
  readonly most: number | null;
}

function parseCount(reader: PatternReader): Count | undefined {
  if (reader.takeIf("*")) return { least: 0, most: null };
  if (reader.takeIf("+")) return { least: 1, most: null };
  if (reader.takeIf("?")) return { least: 0, most: 1 };
  const braces = reader.takeMatching(/\{(\d{1,9})(,?)(\d{0,9})\}/y);
  if (braces === null) return undefined;
  const least = Number(braces[1]);
  const most = braces[2] === "" ? least : braces[3] === "" ? null : Number(braces[3]);
  if (Math.max(least, most ?? 0) > mostRepetitions) {
    throw reader.refuse(`a part may be repeated at most ${mostRepetitions} times by number`);
  }
  if (most !== null && most < least) throw reader.refuse("a repetition's numbers are reversed");
  return { least, most };
}

const assertions: Readonly<Record<string, Assertion>> = { "^": "line-start", $: "line-end" };

function parseOne(reader: PatternReader, ignoreCase: boolean, depth: number): PatternNode {
  const fold = (set: CharacterSet) => (ignoreCase ? foldCase(set) : set);
  if (reader.takeIf("\\b")) return { kind: "assert", that: "word-edge" };
  if (reader.takeIf("\\B")) return { kind: "assert", that: "no-word-edge" };
  const character = reader.take();
  if (Object.hasOwn(assertions, character)) {
    return { kind: "assert", that: assertions[character] ?? "line-start" };
  }
  if (character === "(") return parseGroup(reader, ignoreCase, depth);
  if (character === "[") return { kind: "one", of: parseClass(reader, fold) };
  if (character === ".") return { kind: "one", of: negateSet([]) };
  if (character === "\\") return { kind: "one", of: fold(parseEscape(reader)) };
  if (character === "\n") throw refuseLineBreak();
  if (character === "*" || character === "+" || character === "?") {
    throw reader.refuse(`nothing stands before ${character}. Write \\${character} for itself`);
  }
  const codePoint = character.codePointAt(0) ?? 0;
  return { kind: "one", of: ignoreCase ? foldCharacter(codePoint) : [codePoint, codePoint] };
}

function parseGroup(reader: PatternReader, ignoreCase: boolean, depth: number): PatternNode {
  let foldsCase = ignoreCase;
  if (reader.peek() === "?") {
    const opening = reader.takeMatching(/\?(?:(-?[ims]*):|P?<[A-Za-z_]\w*>)/y);
    if (opening === null) {
      throw reader.refuse(
        "(? begins something this search cannot do: it knows (?:…), (?<name>…) and (?i). " +
          "Lookaround and the like are not regular; search for less and read what is found",
      );
    }
    foldsCase = applyFlags(opening[1] ?? "", ignoreCase);
  }
  const node = parseChoice(reader, foldsCase, depth + 1);
  if (!reader.takeIf(")"))
    throw reader.refuse("a ( has no ). Write \\( for the parenthesis itself");
  return node;
}
