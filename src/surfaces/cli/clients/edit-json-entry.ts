import { createRequire } from "node:module";
import type { ParseError } from "jsonc-parser";
import { MandateError } from "../../../ports/mandate-error.ts";

// Its ES module build cannot be resolved by Node; what it declares as its main file can.
const jsonc = createRequire(import.meta.url)("jsonc-parser") as typeof import("jsonc-parser");

const allowTrailingComma = { allowTrailingComma: true };

/** What stands in the text, comments and trailing commas allowed. An empty text is an empty object. */
export function readJsonObject(text: string, file: string): Readonly<Record<string, unknown>> {
  if (text.trim() === "") return {};
  const errors: ParseError[] = [];
  const value = parse(text, errors, file);
  const [error] = errors;
  if (error !== undefined) {
    const line = text.slice(0, error.offset).split("\n").length;
    const what = jsonc.printParseErrorCode(error.error);
    const sentence = `${file}:${line}: this is not JSON (${what}). Mend it first; nothing was changed.`;
    throw new MandateError("config-invalid", sentence);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new MandateError("config-invalid", `${file}:1: this is not an object of JSON.`);
}

/** The parser calls itself for every level, and nobody's file has thousands of them. */
function parse(text: string, errors: ParseError[], file: string): unknown {
  try {
    return jsonc.parse(text, errors, allowTrailingComma);
  } catch (cause) {
    const sentence = `${file}: this is nested too deep to be read. Nothing was changed.`;
    throw new MandateError("config-invalid", sentence, { cause });
  }
}

/** Sets one entry and leaves everything else as it is written: comments, order, indentation. */
export function setJsonEntry(text: string, path: readonly string[], entry: unknown): string {
  if (text.trim() === "") return `${JSON.stringify(nested(path, entry), null, 2)}\n`;
  return edited(text, path, entry);
}

/** Takes the entry out, and what held nothing else; undefined when nothing else is left at all. */
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

/** As the file has it already. */
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
