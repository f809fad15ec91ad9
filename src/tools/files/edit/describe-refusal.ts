import { headOf } from "../../../text.ts";
import { type EditOutcome, mostCounted } from "./apply-edit.ts";

const newline = 10;
const mostListed = 20;

/** Why an edit was not made, and what to do instead. */
export function describeRefusal(
  path: string,
  content: Buffer,
  oldText: string,
  outcome: Exclude<EditOutcome, { kind: "applied" }>,
): string {
  switch (outcome.kind) {
    case "unchanged":
      return "old_text and new_text are the same, so there is nothing to change.";
    case "too-many":
      return `old_text occurs more than 100000 times in ${path}. Use write_file instead.`;
    case "too-large":
      return `${path} would grow to ${outcome.size} bytes, which is too large to edit.`;
    case "ambiguous":
      return describeAmbiguity(path, content, outcome.places);
    case "missing":
      return describeMissing(path, content, oldText);
    default:
      return outcome satisfies never;
  }
}

function describeAmbiguity(path: string, content: Buffer, places: readonly number[]): string {
  const lines = lineNumbers(content, places);
  const listed = [...new Set(lines)].slice(0, mostListed).join(", ");
  const often = places.length < mostCounted ? `${places.length}` : `${mostCounted} or more`;
  const rest = lines.length > mostListed ? ", …" : "";
  return (
    `old_text occurs ${often} times in ${path}, at lines ${listed}${rest}; nothing was changed. ` +
    "Add lines around the one you mean until it is the only one, or set replace_all."
  );
}

function describeMissing(path: string, content: Buffer, oldText: string): string {
  const nothing = `old_text does not occur in ${path}; nothing was changed.`;
  const text = content.toString();
  if (oldText.split("\n").every((line) => /^\s*\d+\t|^$/.test(line))) {
    return `${nothing} It begins its lines with numbers, which are not in the file: leave them out.`;
  }
  const withoutEnd = oldText.replace(/[\r\n]+$/, "");
  if (withoutEnd !== oldText && withoutEnd !== "" && text.endsWith(withoutEnd)) {
    return `${nothing} It ends in a line break, and the file ends without one: leave it out.`;
  }
  const nearest = nearestLines(text, oldText);
  if (nearest === null) {
    return `${nothing} Nothing in it is like that; read the file, or search for it with grep.`;
  }
  const what = nearest.differsInBlanks
    ? `The lines from ${nearest.line} on differ from it in blanks alone`
    : `The nearest is at line ${nearest.line}`;
  return `${nothing} ${what}; copy old_text from the file exactly:\n${nearest.shown}`;
}

function lineNumbers(content: Buffer, places: readonly number[]): readonly number[] {
  let line = 1;
  let next = content.indexOf(newline);
  return places.map((place) => {
    while (next >= 0 && next < place) {
      line += 1;
      next = content.indexOf(newline, next + 1);
    }
    return line;
  });
}

/** How much of a file is compared, in characters: enough for any file that people write. */
const mostCompared = 500_000;
/** Longer blocks are found by their longest line alone. */
const longestBlock = 50;
const longestLine = 200;
const around = 2;
const leastLikeness = 0.5;

interface NearestLines {
  /** The number of the line, from 1. */
  readonly line: number;
  /** The lines are the same but for blanks. */
  readonly differsInBlanks: boolean;
  /** The lines with their numbers, and those around them. */
  readonly shown: string;
}

/** Where a file comes nearest to a text that does not occur in it, or null when nowhere near. */
function nearestLines(content: string, sought: string): NearestLines | null {
  const lines = content.slice(0, mostCompared).split(/\r?\n/);
  const wanted = sought.split(/\r?\n/).map(collapse);
  const first = wanted.findIndex((line) => line !== "");
  if (first < 0) return null;
  const block = wanted.slice(first, wanted.findLastIndex((line) => line !== "") + 1);
  const collapsed = lines.map(collapse);
  const same = block.length > longestBlock ? -1 : findBlock(collapsed, block);
  if (same >= 0) return describe(lines, same, block.length, true);
  const telling = block.reduce((longest, line) => (line.length > longest.length ? line : longest));
  const likest = findLikest(collapsed, telling);
  if (likest < 0) return null;
  const start = Math.max(0, likest - block.indexOf(telling));
  return describe(lines, start, Math.min(block.length, 20), false);
}

function findBlock(lines: readonly string[], block: readonly string[]): number {
  const [first] = block;
  return lines.findIndex((line, at) => {
    return line === first && block.every((wanted, offset) => lines[at + offset] === wanted);
  });
}

/** By pairs of letters in common: cheap, and blind to what moved within a line. */
function findLikest(lines: readonly string[], sought: string): number {
  const pairs = pairsOf(sought);
  let likest = -1;
  let best = leastLikeness;
  for (const [at, line] of lines.entries()) {
    if (line === sought) return at;
    const others = pairsOf(line);
    let common = 0;
    for (const pair of others) if (pairs.has(pair)) common += 1;
    const likeness = (2 * common) / (pairs.size + others.size || 1);
    if (likeness <= best) continue;
    best = likeness;
    likest = at;
  }
  return likest;
}

function pairsOf(line: string): ReadonlySet<string> {
  const pairs = new Set<string>();
  for (let at = 0; at + 1 < line.length; at += 1) pairs.add(line.slice(at, at + 2));
  return pairs;
}

function collapse(line: string): string {
  return line.slice(0, longestLine).trim().replace(/\s+/g, " ");
}

function describe(
  lines: readonly string[],
  start: number,
  length: number,
  differsInBlanks: boolean,
): NearestLines {
  const from = Math.max(0, start - around);
  const shown = lines
    .slice(from, start + length + around)
    .map((line, offset) => `${from + offset + 1}\t${headOf(line, longestLine)}`)
    .join("\n");
  return { line: start + 1, differsInBlanks, shown };
}
