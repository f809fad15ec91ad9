import { headOf } from "../../text.ts";
import type { FrontMatterProblem } from "./front-matter.ts";
import { nearestKey } from "./nearest-key.ts";
import type { EntryLine } from "./repair-entries.ts";

interface GuardedText {
  readonly lines: readonly EntryLine[];
  readonly body: readonly string[];
  readonly bodyLine: number;
  readonly fields: Readonly<Record<string, unknown>>;
  lineOf(key: string): number;
}

/** How many lines of the body are searched for keys that belong into the front matter. */
const maximumSlipped = 40;

/**
 * Finds lines that look as if they set a key that restricts, while the parsed front matter does not
 * contain that key: the line has no colon, is indented into the value before it, or stands below
 * the front matter. To ignore such a line would allow more than its author meant to allow.
 */
export function findMislaidKeys(
  text: GuardedText,
  guarded: ReadonlySet<string>,
): FrontMatterProblem[] {
  const missing = new Set([...guarded].filter((key) => !Object.hasOwn(text.fields, key)));
  if (missing.size === 0) return [];
  const problems: FrontMatterProblem[] = [];
  const isInStructure = structuresOf(text);
  const keyOfLine = new Map(Object.keys(text.fields).map((key) => [text.lineOf(key), key]));
  for (const { text: line, line: number } of text.lines) {
    const [, word = "", sign] = wordAtStart.exec(line) ?? [];
    if (word === "" || isOwnKey(keyOfLine.get(number), word)) continue;
    const isAtStart = !/^\s/.test(line);
    // A line without a colon counts only at the start of a line: indented, any word can begin
    // prose.
    const isMeant = missing.has(word) && (sign !== undefined || isAtStart);
    const key = isMeant ? word : isAtStart && sign !== undefined && findMeant(word, missing);
    if (key === undefined || key === false || isInStructure(number)) continue;
    problems.push({ severity: "error", line: number, message: describe(key, line) });
  }
  const slipped = slippedLines(text.body);
  for (const [index, line] of slipped.entries()) {
    const [, key = "", sign] = wordAtStart.exec(line) ?? [];
    if (!missing.has(key) || sign === undefined || /^\s/.test(line)) continue;
    if (/[:=：]\s*$/.test(line) && isProseList(text.body.slice(index + 1))) continue;
    const message = `"${key}" stands below the end of the front matter; move it up`;
    problems.push({ severity: "error", line: text.bodyLine + index, message });
  }
  return problems;
}

/**
 * Whether YAML read the line as a key of another spelling: `tools { bash: false }`, `tools:{ bash:
 * false }` and `= tools` are keys, but not `tools`.
 */
function isOwnKey(key: string | undefined, word: string): boolean {
  if (key === undefined) return false;
  const bare = key.replace(/^[^\p{L}\p{N}_]+/u, "");
  if (bare === word) return key === word;
  return !bare.startsWith(word) || !/^[^\w.-]/.test(bare.slice(word.length));
}

/**
 * The known key that a misspelt word means. A capital begins a sentence: «Tool:» in a dialogue is
 * no key, «Tools:» may be one.
 */
function findMeant(word: string, missing: ReadonlySet<string>): string | undefined {
  // At most two typing errors and two dashes: to compare every line with every key takes long.
  const near = [...missing].filter((key) => Math.abs(key.length - word.length) <= 4);
  if (/^[a-z]/.test(word)) return nearestKey(word, near, 2);
  return [...missing].find((key) => key.toLowerCase() === word.toLowerCase());
}

/**
 * The word at the start of a line, after any marks: `@tools:`, `{tools:` and `,tools :` are typing
 * errors. Not after `#`, which comments the line out, and not in a tag or a path.
 */
const wordAtStart =
  /^[^\p{L}\p{N}#</_.~$(]*([A-Za-z][\w-]*)[^\p{L}\p{N}#<>/_.~$(:=：]*(?:([:=：])|(?=\s|$))/u;

/**
 * Tells whether a line is nested inside a map or list, where the same word means something else,
 * such as the tools of a server. The first level does not count: a key that was indented by mistake
 * is there.
 */
function structuresOf(text: GuardedText): (line: number) => boolean {
  const lines = text.lines.filter((line) => line.text.trim() !== "");
  const structures = Object.entries(text.fields)
    .map(([key, value]) => {
      const start = text.lineOf(key);
      const child = lines.find(({ line }) => line > start)?.text ?? "";
      const isNested = typeof value === "object" && value !== null;
      return { start, indent: isNested ? indentOf(child) : Number.POSITIVE_INFINITY };
    })
    .sort((left, right) => left.start - right.start);
  const indents = new Map(lines.map(({ line, text: content }) => [line, indentOf(content)]));
  return (line) => {
    const around = structures.findLast(({ start }) => start < line);
    return around !== undefined && (indents.get(line) ?? 0) > around.indent;
  };
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

/** The first lines of the body, up to the first that does not look like a key and its value. */
function slippedLines(body: readonly string[]): readonly string[] {
  const slipped: string[] = [];
  for (const line of body.slice(0, maximumSlipped)) {
    if (!/^(?:\s*$|\s|- |["']?[A-Za-z_][\w.-]*["']?\s*:)/.test(line)) break;
    slipped.push(line);
  }
  return slipped;
}

/** Whether a list of sentences follows: each item has several words outside of parentheses. */
function isProseList(lines: readonly string[]): boolean {
  const end = lines.findIndex((line) => !/^\s*(?:$|[-*]\s|\s\S)/.test(line));
  const items = lines
    .slice(0, end < 0 ? undefined : end)
    .flatMap((line) => /^\s*[-*]\s+(.*)$/.exec(line)?.[1] ?? []);
  const isProse = (item: string) =>
    item
      .replace(/\([^)]*\)/g, "")
      .split(",")
      .some((piece) => /\S\s+\S/.test(piece));
  return items.length > 0 && items.every(isProse);
}

function describe(key: string, line: string): string {
  const shown = headOf(line.trim(), 40);
  if (!/^\s/.test(line)) return `"${shown}" is not read as "${key}"; write "${key}: …"`;
  return `"${shown}" is part of the value before it; begin the line with "${key}:"`;
}
