import type { FrontMatterProblem } from "./front-matter.ts";
import { parseYaml } from "./read-yaml.ts";

export interface EntryLine {
  readonly text: string;
  /** The line in the file, from 1. */
  readonly line: number;
}

interface RepairedEntries {
  readonly fields: Record<string, unknown>;
  /** Lines in the front matter that belong to no value. */
  readonly leftOver: readonly string[];
  readonly problems: readonly FrontMatterProblem[];
  lineOf(key: string): number;
}

/** Keys of the format, those whose values are prose, and those that restrict. */
export type KeySets = Readonly<Record<"known" | "prose" | "guarded", ReadonlySet<string>>>;

interface Entry {
  readonly key: string;
  readonly indent: number;
  readonly line: number;
  /** The text after the colon on the first line. */
  readonly first: string;
  readonly more: string[];
}

/** A key, its colon and the rest of the line. `http://…` is not a key. */
const keyLine = /^([ \t]*)(["']?)([A-Za-z_][\w.-]*)\2[ \t]*:(?!\/\/)(.*)$/;

/**
 * Reads a front matter that is not valid YAML. A known key begins an entry; inside prose no other
 * word does, since descriptions contain «user:» and «Context:». Each entry is parsed alone, and
 * only an entry that fails is read as text.
 */
export function repairEntries(lines: readonly EntryLine[], keys: KeySets): RepairedEntries {
  const { guarded, prose } = keys;
  const problems: FrontMatterProblem[] = [];
  const leftOver: string[] = [];
  const values = new Map<string, unknown>();
  const lineByKey = new Map<string, number>();
  for (const entry of splitEntries(lines, keys, leftOver)) {
    const { key, line } = entry;
    const tell = (severity: "warning" | "error", message: string) =>
      problems.push({ severity, line, message });
    if (key === "__proto__") {
      tell("error", '"__proto__" cannot be a key');
      continue;
    }
    if (values.has(key)) tell("warning", `the key "${key}" is there twice; the last one counts`);
    const isWhole = prose.has(key) || guarded.has(key);
    values.set(key, readValue(entry, { isProse: prose.has(key), isWhole }, leftOver));
    lineByKey.set(key, line);
  }
  const fields = Object.fromEntries(values);
  return { fields, leftOver, problems, lineOf: (key) => lineByKey.get(key) ?? 1 };
}

function splitEntries(lines: readonly EntryLine[], keys: KeySets, leftOver: string[]): Entry[] {
  const entries: Entry[] = [];
  let current: Entry | undefined;
  for (const { text, line } of lines) {
    const [, space = "", , key = "", first = ""] = keyLine.exec(text) ?? [];
    const next = { key, indent: space.length, line, first, more: [] };
    if (key !== "" && startsEntry(next, current, keys)) {
      current = { ...next, first: first.trim() };
      entries.push(current);
    } else if (current !== undefined) current.more.push(text);
    else if (text.trim() !== "") leftOver.push(text);
  }
  return entries;
}

function startsEntry(
  { first, indent, key }: Entry,
  current: Entry | undefined,
  { known, prose }: KeySets,
): boolean {
  if (known.has(key)) {
    if (current === undefined || indent <= current.indent) return true;
    // An indented key is part of the value before it, unless that value is complete on its own
    // line.
    if (prose.has(current.key)) return false;
    return isListOfTexts(current) || (current.more.length === 0 && isPlainText(current.first));
  }
  if (current === undefined || indent > current.indent || prose.has(current.key)) return false;
  return first === "" || /^\s/.test(first);
}

/** A key below the items of such a list was indented by a formatter: no item can hold it. */
function isListOfTexts({ first, more }: Entry): boolean {
  const items = more.filter((line) => line.trim() !== "");
  const isText = (line: string) => /^\s*-\s+[^\s{[]/.test(line) && !/:(?:\s|$)/.test(line);
  return first === "" && items.length > 0 && items.every(isText);
}

function isPlainText(value: string): boolean {
  return value !== "" && !/^[[{|>"'&*!]/.test(value);
}

/**
 * `isWhole`: all lines belong to the value. Otherwise only the first line does, and the rest is
 * text.
 */
function readValue(
  entry: Entry,
  { isProse, isWhole }: { readonly isProse: boolean; readonly isWhole: boolean },
  leftOver: string[],
): unknown {
  const more = entry.more.map((line) => dedent(line, entry.indent));
  const whole = parseValue([entry.first, ...more]);
  if (whole !== undefined) return whole.value;
  const alone = isWhole || entry.first === "" ? undefined : parseValue([entry.first]);
  if (alone === undefined || typeof alone.value === "object") {
    return readEntryText(entry.first, more, { isProse });
  }
  for (const line of more) if (line.trim() !== "") leftOver.push(line);
  return alone.value;
}

function parseValue(lines: readonly string[]): { readonly value: unknown } | undefined {
  try {
    const { value } = parseYaml(`k: ${lines.join("\n")}`, "", { onDuplicate: () => undefined });
    if (typeof value !== "object" || value === null) return undefined;
    const record = value as Record<string, unknown>;
    return Object.keys(record).length === 1 ? { value: record["k"] } : undefined;
  } catch {
    return undefined;
  }
}

function dedent(line: string, indent: number): string {
  return line.slice(Math.min(indent, line.length - line.trimStart().length));
}

/**
 * The value of an entry that is not valid YAML, as text: line breaks stay, an opening quote is
 * removed whether or not it is closed, common indentation is removed.
 */
function readEntryText(
  first: string,
  more: readonly string[],
  options: { readonly isProse: boolean },
): string {
  const block = /^[|>][-+0-9]*\s*(?:#.*)?$/.test(first);
  const lines = [...(block ? [] : [first]), ...withoutIndent(more)];
  let text = lines.join("\n").trim();
  if (block) return text;
  if (options.isProse) text = withoutMarks(text);
  const quote = /^["']/.exec(text)?.[0];
  if (quote !== undefined) text = withoutQuotes(text, quote);
  // A program wrote a backslash and an n in place of a line break.
  return options.isProse ? text.replaceAll("\\n", "\n").trim() : text;
}

/** Removes what programs write twice, the key or the mark of a block before a quote. */
function withoutMarks(first: string): string {
  return first.replace(/^description\s*:\s*(?=\S)/, "").replace(/^[|>][-+0-9]*\s*(?=["'])/, "");
}

function withoutQuotes(text: string, quote: string): string {
  const isClosed = text.length > 1 && text.endsWith(quote);
  const inside = text.slice(1, isClosed ? -1 : undefined).trim();
  if (quote === "'") return inside.replaceAll("''", "'");
  return inside.replaceAll('\\"', '"');
}

function withoutIndent(lines: readonly string[]): string[] {
  const filled = lines.filter((line) => line.trim() !== "");
  const indents = filled.map((line) => line.length - line.trimStart().length);
  const common = indents.reduce((least, indent) => Math.min(least, indent), 1024);
  return lines.map((line) => line.slice(Math.min(common, line.length)).trimEnd());
}
