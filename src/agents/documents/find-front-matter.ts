import { headOf } from "../../text.ts";
import type { FrontMatterProblem } from "./front-matter.ts";
import type { EntryLine } from "./repair-entries.ts";

type FrontMatterBounds =
  | { readonly kind: "none"; readonly problems: readonly FrontMatterProblem[] }
  | {
      readonly kind: "found";
      readonly lines: readonly EntryLine[];
      readonly body: readonly string[];
      readonly bodyLine: number;
      readonly problems: readonly FrontMatterProblem[];
    };

/** Text of a model that may precede the front matter, in lines. */
const maximumPreamble = 10;

/**
 * Finds the beginning and the end of the front matter. Editors, formatters and models leave it
 * indented, inside a code fence, after a sentence, or closed by an underline or by the first words
 * of the body.
 */
export function findFrontMatter(
  lines: readonly string[],
  known: ReadonlySet<string>,
): FrontMatterBounds {
  const problems: FrontMatterProblem[] = [];
  const warn = (index: number, message: string) =>
    problems.push({ severity: "warning", line: index + 1, message });
  const refuse = (index: number, message: string): FrontMatterBounds => {
    problems.push({ severity: "error", line: index + 1, message });
    return { kind: "none", problems };
  };

  const { text, warning } = unwrap(lines, known);
  const start = nextText(text, 0);
  if (start === undefined) return { kind: "none", problems };
  if (warning !== undefined) warn(start, warning);
  const first = text[start] ?? "";
  if (/^---\s*[^-\s#]/.test(first)) {
    return refuse(start, `the first line must be --- alone; "${headOf(first, 40)}" is not read`);
  }
  if (/^---\s*(?:#.*)?$/.test(first) || (dashes.test(first) && opensAt(text, start, known))) {
    if (start > 0 && problems.length === 0)
      warn(start, "the front matter begins after a blank line");
    if (!first.startsWith("---") || first.startsWith("----")) {
      warn(start, "the front matter must begin with a line ---");
    }
    return close(text, start, problems, refuse);
  }
  if (isKnownKey(first, known)) {
    warn(start, "the front matter has no --- before and after it");
    return closeBare(text, start, problems);
  }
  const later = findAfterPreamble(text, start, known);
  if (later === undefined) return { kind: "none", problems };
  warn(later, "there is text before the front matter; it was left out");
  return close(text, later, problems, refuse);
}

function close(
  text: readonly string[],
  start: number,
  problems: FrontMatterProblem[],
  refuse: (index: number, message: string) => FrontMatterBounds,
): FrontMatterBounds {
  const isEnd = (line: string) => /^-{3}/.test(line) || /^\.{3}\s*$/.test(line);
  let end = text.findIndex((line, index) => index > start && isEnd(line));
  if (end < 0) end = text.findIndex((line, index) => index > start && /^\s*-{3,}\s*$/.test(line));
  if (end < 0) {
    return refuse(start, "the front matter is not closed; end it with a line ---");
  }
  const line = text[end] ?? "";
  const glued = /^-{3,}\s*([^-\s].*)$/.exec(line)?.[1];
  if (!/^(?:---|\.{3})\s*$/.test(line)) {
    const message = `the front matter is closed by "${headOf(line.trim(), 20)}" in place of ---`;
    problems.push({ severity: "warning", line: end + 1, message });
  }
  const body = text.slice(end + 1);
  return {
    kind: "found",
    lines: numbered(text, start + 1, end),
    body: glued === undefined ? body : [glued, ...body],
    bodyLine: glued === undefined ? end + 2 : end + 1,
    problems,
  };
}

/**
 * Front matter without dashes. It ends at a line of dashes, or at a blank line that is followed by
 * neither a key nor an indented line.
 */
function closeBare(
  text: readonly string[],
  start: number,
  problems: readonly FrontMatterProblem[],
): FrontMatterBounds {
  let end = start;
  for (; end < text.length; end += 1) {
    const line = text[end] ?? "";
    if (dashes.test(line)) break;
    if (line.trim() !== "") continue;
    const next = nextText(text, end) ?? text.length;
    if (!/^(?:\s|[\w-]+\s*:(?:\s|$))/.test(text[next] ?? "")) break;
    end = next - 1;
  }
  return {
    kind: "found",
    lines: numbered(text, start, end),
    body: text.slice(end + 1),
    bodyLine: end + 2,
    problems,
  };
}

function findAfterPreamble(
  text: readonly string[],
  start: number,
  known: ReadonlySet<string>,
): number | undefined {
  const last = Math.min(text.length, start + maximumPreamble);
  for (let index = start; index < last; index += 1) {
    if (/^---\s*$/.test(text[index] ?? "") && opensAt(text, index, known)) return index;
  }
  return undefined;
}

function numbered(text: readonly string[], from: number, to: number): EntryLine[] {
  return text.slice(from, to).map((line, index) => ({ text: line, line: from + index + 1 }));
}

/** A line that opens or closes a front matter, with the dashes that people and editors write. */
const dashes = /^(?:-{2,}|[–—]{1,3})\s*$/;

/** The text without the code fence or the indentation around the whole file. */
function unwrap(
  lines: readonly string[],
  known: ReadonlySet<string>,
): { readonly text: readonly string[]; readonly warning?: string } {
  const start = nextText(lines, 0);
  if (start === undefined) return { text: lines };
  const first = lines[start] ?? "";
  const inside = nextText(lines, start + 1);
  const isFence = /^(?:`{3,}|~{3,})\s*[\w-]*\s*$/.test(first);
  if (isFence && inside !== undefined && opensAt(lines, inside, known)) {
    const warning = "the whole file is inside a code fence; the fence was removed";
    return { text: withoutFence(lines, start), warning };
  }
  const indent = /^([ \t]+)-{3,}\s*$/.exec(first)?.[1];
  if (indent === undefined) return { text: lines };
  const text = lines.map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line));
  return { text, warning: "the whole file is indented; the indentation was taken off" };
}

/** Whether a line of dashes at `index` is followed by a key. */
export function opensAt(
  text: readonly string[],
  index: number,
  known: ReadonlySet<string>,
): boolean {
  const next = nextText(text, index + 1);
  const line = (text[index] ?? "").trim();
  return dashes.test(line) && next !== undefined && isKnownKey(text[next]?.trim() ?? "", known);
}

function isKnownKey(line: string, known: ReadonlySet<string>): boolean {
  const key = /^["']?([\w.-]+)["']?\s*:(?:\s|$)/.exec(line)?.[1];
  return key !== undefined && known.has(key);
}

function withoutFence(text: readonly string[], start: number): string[] {
  const fence = (text[start] ?? "").trim().slice(0, 3);
  const last = text.findLastIndex((line, index) => index > start && line.trim() === fence);
  return text.map((line, index) => (index === start || index === last ? "" : line));
}

/** The index of the first line from `from` on that is not blank. */
function nextText(text: readonly string[], from: number): number | undefined {
  for (let index = from; index < text.length; index += 1) {
    if ((text[index] ?? "").trim() !== "") return index;
  }
  return undefined;
}
