import { createRequire } from "node:module";
import type { Node, ParseError } from "jsonc-parser";
import { MandateError } from "../../../ports/mandate-error.ts";

// Node cannot resolve the package's ES module build; its main file works.
const jsonc = createRequire(import.meta.url)("jsonc-parser") as typeof import("jsonc-parser");

const options = { allowTrailingComma: true };

/** Replaces a part of a text. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export function applied(text: string, { start, end, text: added }: Edit): string {
  return `${text.slice(0, start)}${added}${text.slice(end)}`;
}

/** An edit that adds an entry; `depth`: how many objects on its path were there before. */
export interface Inserted extends Edit {
  readonly depth: number;
}

export function entryAt(table: unknown, path: readonly string[]): unknown {
  let value: unknown = table;
  for (const name of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name))
      return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

/** Tables of TOML have no prototype, which counts as a difference. */
export function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

/** Parses JSON with comments and trailing commas. A blank text is an empty object. */
export function readJsonObject(text: string, file: string): Readonly<Record<string, unknown>> {
  if (text.trim() === "") return {};
  const errors: ParseError[] = [];
  const value = parseJson(text, errors, file);
  const [error] = errors;
  if (error !== undefined) {
    const line = text.slice(0, error.offset).split("\n").length;
    const what = jsonc.printParseErrorCode(error.error);
    const sentence = `${file}:${line}: this is not JSON (${what}). Fix it first; nothing was changed.`;
    throw new MandateError("config-invalid", sentence);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new MandateError("config-invalid", `${file}:1: this is not a JSON object.`);
}

/** The parser is recursive, and overflows the stack on thousands of levels. */
function parseJson(text: string, errors: ParseError[], file: string): unknown {
  try {
    return jsonc.parse(text, errors, options);
  } catch (cause) {
    const sentence = `${file}: this is nested too deeply to be read. Nothing was changed.`;
    throw new MandateError("config-invalid", sentence, { cause });
  }
}

/**
 * Adds the entry as the last member of the deepest object on its path. Only the new text, and where
 * needed a comma before it, is added; it is laid out as its new neighbours are.
 */
export function insertJson(text: string, path: readonly string[], entry: unknown): Inserted {
  const root = jsonc.parseTree(text, [], options);
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  if (root === undefined) {
    const whole = JSON.stringify(nested(path, entry), null, 2).replaceAll("\n", eol);
    return { start: 0, end: text.length, text: `${whole}${eol}`, depth: 0 };
  }
  let depth = 0;
  let holder: Node = root;
  for (; depth < path.length - 1; depth++) {
    const next = jsonc.findNodeAtLocation(root, path.slice(0, depth + 1));
    if (next === undefined) break;
    holder = next;
  }
  const value = nested(path.slice(depth + 1), entry);
  return { ...insertMember(text, holder, [path[depth] ?? "", value], eol), depth };
}

function insertMember(
  text: string,
  holder: Node,
  [name, value]: readonly [string, unknown],
  eol: string,
): Edit {
  const [first] = holder.children ?? [];
  const last = holder.children?.at(-1);
  const close = holder.offset + holder.length - 1;
  const start = last === undefined ? holder.offset + 1 : last.offset + last.length;
  /** A comma and comments: what follows is put behind them. */
  const kept = text.slice(start, close).trimEnd();
  const hasLines =
    first === undefined
      ? text.trim().includes("\n") || holder.parent === undefined
      : text.slice(holder.offset, first.offset).includes("\n");
  const unit = /^([ \t]+)\S/m.exec(text)?.[1] ?? "  ";
  const outside = indentationAt(text, holder.offset);
  const inside = first !== undefined && hasLines ? indentationAt(text, first.offset) : null;
  const indentation = inside ?? `${outside}${unit}`;
  const laidOut = hasLines || kept.includes("//");
  const body = laidOut
    ? JSON.stringify(value, null, unit).replaceAll("\n", `${eol}${indentation}`)
    : onOneLine(value);
  const member = `${laidOut ? `${eol}${indentation}` : " "}${JSON.stringify(name)}: ${body}`;
  if (last === undefined) {
    const end = laidOut ? `${eol}${outside}` : " ";
    return { start, end: close, text: `${kept}${member}${end}` };
  }
  const hasComma = commaAfter(text, start) !== undefined;
  const added = hasComma ? `${kept}${member},` : `,${kept}${member}`;
  return { start, end: start + kept.length, text: added };
}

/** Removes the entry, and the empty objects on its path below the first `depth` ones. */
export function removeJson(text: string, path: readonly string[], depth: number): string {
  let rest = cutMember(text, path);
  for (let length = path.length - 1; length > depth; length--) {
    const holder = jsonc.findNodeAtLocation(
      jsonc.parseTree(rest, [], options) ?? emptyNode,
      path.slice(0, length),
    );
    if (holder?.type !== "object" || (holder.children?.length ?? 0) > 0) break;
    if (rest.slice(holder.offset + 1, holder.offset + holder.length - 1).trim() !== "") break;
    rest = cutMember(rest, path.slice(0, length));
  }
  return rest;
}

const emptyNode = { type: "object", offset: 0, length: 0 } as const;

/** Comments before and after the member stay. */
function cutMember(text: string, path: readonly string[]): string {
  const root = jsonc.parseTree(text, [], options) ?? emptyNode;
  const member = jsonc.findNodeAtLocation(root, [...path])?.parent;
  if (member === undefined) return text;
  const before = text.slice(0, member.offset);
  const end = member.offset + member.length;
  const comma = commaAfter(text, end);
  if (comma !== undefined) {
    const after = text.slice(comma + 1);
    const line = /(?<=\n)[ \t]*$/.exec(before);
    const ownLine = line !== null && /^[ \t]*\r?\n/.test(after);
    return ownLine
      ? `${before.slice(0, line.index)}${text.slice(end, comma)}${after.replace(/^[ \t]*\r?\n/, "")}`
      : `${before}${text.slice(end, comma)}${after.replace(/^[ \t]+/, "")}`;
  }
  const siblings = member.parent?.children ?? [];
  const previous = siblings[siblings.indexOf(member) - 1];
  const kept = before.trimEnd();
  if (previous === undefined) return `${kept}${text.slice(end)}`;
  const separator = commaAfter(text, previous.offset + previous.length) ?? kept.length;
  return `${kept.slice(0, separator)}${kept.slice(separator + 1)}${text.slice(end)}`;
}

/** Where the comma is that follows, with nothing but white space and comments between. */
function commaAfter(text: string, offset: number): number | undefined {
  const scanner = jsonc.createScanner(text, true);
  scanner.setPosition(offset);
  scanner.scan();
  const at = scanner.getTokenOffset();
  return text[at] === "," ? at : undefined;
}

function indentationAt(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset);
  return /^[ \t]*/.exec(line)?.[0] ?? "";
}

/** `{ "a": 1 }`, as people write one line. */
function onOneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(onOneLine).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, each]) => `${JSON.stringify(name)}: ${onOneLine(each)}`,
  );
  return `{ ${members.join(", ")} }`;
}

function nested(path: readonly string[], entry: unknown): unknown {
  return path.reduceRight<unknown>((value, name) => ({ [name]: value }), entry);
}
