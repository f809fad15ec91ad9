import { createRequire } from "node:module";
import { isDeepStrictEqual } from "node:util";
import type { ParseError } from "jsonc-parser";
import { parse, stringify, type TomlTable } from "smol-toml";
import { MandateError } from "../../../ports/mandate-error.ts";
import { messageOf } from "../../../ports/message-of.ts";

export function readTomlTable(text: string, file: string): TomlTable {
  try {
    return parse(text);
  } catch (cause) {
    const [what = ""] = messageOf(cause).split("\n");
    const sentence = `${file}: this is not TOML (${what}). Fix it first; nothing was changed.`;
    throw new MandateError("config-invalid", sentence, { cause });
  }
}

/**
 * Sets one table as text, because a parser would lose comments and order. The result is parsed again
 * and must have exactly the wanted content.
 */
export function setTomlEntry(
  text: string,
  path: readonly string[],
  entry: Readonly<Record<string, unknown>>,
  file: string,
): string {
  const rest = removeTomlEntry(text, path, file) ?? "";
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const body = stringify(entry).trimEnd().split("\n");
  const block = [`[${path.join(".")}]`, ...body, ""].join(eol);
  const gap = rest === "" ? "" : rest.endsWith("\n") ? eol : `${eol}${eol}`;
  const next = `${rest}${gap}${block}`;
  const meant = withEntry(readTomlTable(rest, file), path, entry);
  requireSame(readTomlTable(next, file), meant, path, file);
  return next;
}

/** Undefined when nothing else is left. */
export function removeTomlEntry(
  text: string,
  path: readonly string[],
  file: string,
): string | undefined {
  const before = readTomlTable(text, file);
  if (entryAt(before, path) === undefined) return text === "" ? undefined : text;
  const lines = text.split(/(?<=\n)/);
  const name = path.join(".");
  const isOurs = (line: string): boolean => {
    const [, header = ""] = /^\s*\[{1,2}\s*([^\]]*?)\s*\]/.exec(line) ?? [];
    const plain = header.replaceAll(/["'\s]/g, "");
    return plain === name || plain.startsWith(`${name}.`);
  };
  const isHeader = (line: string): boolean => /^\s*\[/.test(line);
  const kept: string[] = [];
  let inside = false;
  for (const line of lines) {
    if (isHeader(line)) inside = isOurs(line);
    if (!inside) kept.push(line);
  }
  // A table at the end of the file was added with the blank line before it.
  if (inside && kept.at(-1)?.trim() === "") kept.pop();
  const rest = kept.join("");
  requireSame(readTomlTable(rest, file), withEntry(before, path, undefined), path, file);
  return rest.trim() === "" ? undefined : rest;
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

function withEntry(
  table: TomlTable,
  [group = "", name = ""]: readonly string[],
  entry: unknown,
): unknown {
  const { [group]: before, ...others } = table;
  const { [name]: _, ...siblings } = (before ?? {}) as Record<string, unknown>;
  const members = entry === undefined ? siblings : { ...siblings, [name]: entry };
  return Object.keys(members).length === 0 ? others : { ...others, [group]: members };
}

function requireSame(got: unknown, meant: unknown, path: readonly string[], file: string): void {
  if (isDeepStrictEqual(JSON.parse(JSON.stringify(got)), JSON.parse(JSON.stringify(meant)))) return;
  throw new MandateError(
    "config-invalid",
    `${file}: the table [${path.join(".")}] is written in a way that cannot be changed safely. Change it by hand; nothing was changed.`,
  );
}

// Node cannot resolve the package's ES module build; its main file works.
const jsonc = createRequire(import.meta.url)("jsonc-parser") as typeof import("jsonc-parser");

const allowTrailingComma = { allowTrailingComma: true };

/** Parses JSON with comments and trailing commas. An empty text is an empty object. */
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
    return jsonc.parse(text, errors, allowTrailingComma);
  } catch (cause) {
    const sentence = `${file}: this is nested too deeply to be read. Nothing was changed.`;
    throw new MandateError("config-invalid", sentence, { cause });
  }
}

/** Sets one entry and leaves everything else as it is written: comments, order, indentation. */
export function setJsonEntry(text: string, path: readonly string[], entry: unknown): string {
  if (text.trim() === "") return `${JSON.stringify(nested(path, entry), null, 2)}\n`;
  return edited(text, path, entry);
}

/** Removes the entry and parents that become empty; undefined when the whole file is empty then. */
export function removeJsonEntry(text: string, path: readonly string[]): string | undefined {
  let rest = edited(text, path, undefined);
  for (let depth = path.length - 1; depth > 0; depth--) {
    const holder = jsonc.findNodeAtLocation(jsonc.parseTree(rest) ?? emptyNode, [
      ...path.slice(0, depth),
    ]);
    const isEmpty = holder?.type === "object" && (holder.children?.length ?? 0) === 0;
    if (!isEmpty || holdsComment(rest.slice(holder.offset, holder.offset + holder.length))) break;
    rest = edited(rest, path.slice(0, depth), undefined);
  }
  return rest.replaceAll(/\s/g, "") === "{}" ? undefined : rest;
}

const emptyNode = { type: "object", offset: 0, length: 0 } as const;

function holdsComment(text: string): boolean {
  return text.replaceAll(/[\s{}]/g, "") !== "";
}

function edited(text: string, path: readonly string[], value: unknown): string {
  const formattingOptions = indentationOf(text);
  const edits = jsonc.modify(text, [...path], value, { formattingOptions });
  return jsonc.applyEdits(text, edits);
}

/** The indentation that the file already uses. */
function indentationOf(text: string): {
  readonly insertSpaces: boolean;
  readonly tabSize: number;
  readonly eol: string;
} {
  const [, indentation = "  "] = /^([ \t]+)\S/m.exec(text) ?? [];
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  return { insertSpaces: !indentation.startsWith("\t"), tabSize: indentation.length, eol };
}

function nested(path: readonly string[], entry: unknown): unknown {
  return path.reduceRight<unknown>((value, name) => ({ [name]: value }), entry);
}
