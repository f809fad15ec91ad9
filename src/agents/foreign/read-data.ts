import { createRequire } from "node:module";
import type { Node, ParseError } from "jsonc-parser";
import { MandateError } from "../../ports/mandate-error.ts";
import { parseYaml, type YamlPath } from "../documents/read-yaml.ts";
import type { Syntax } from "./detect-format.ts";
import { toPlainData } from "./plain-data.ts";

/** Real collections of modes exceed a megabyte. */
export const maximumDataBytes = 2 * 1024 * 1024;

/** Reads TOML, JSON or YAML. Invalid data is not repaired: a guess could lose a restriction. */
export function readData(text: string, syntax: Syntax): ParsedData | DataProblem {
  if (syntax === "toml") return readToml(text);
  if (syntax === "json" || /^\s*\{/.test(text)) return readJsonc(text);
  const duplicates: { key: string; line: number }[] = [];
  try {
    const { value, lineOf } = parseYaml(text, "", {
      maximumLength: maximumDataBytes,
      onDuplicate: (line, key) => duplicates.push({ key, line }),
    });
    return { value, duplicates, lineOf };
  } catch (error) {
    if (!(error instanceof MandateError)) throw error;
    const [, line = "1", problem = error.message] = /^:(\d+): ([\s\S]*)$/.exec(error.message) ?? [];
    return { problem: `not valid YAML: ${problem.split("\n")[0]}`, line: Number(line) };
  }
}

const require = createRequire(import.meta.url);

const maximumDepth = 64;

/** Reads TOML as plain data; dates become text. */
function readToml(text: string): ParsedData | DataProblem {
  // Loaded on demand: most folders hold only Markdown.
  const { parse } = require("smol-toml") as typeof import("smol-toml");
  try {
    const value = toPlainData(parse(text, { maxDepth: maximumDepth }));
    return { value, duplicates: [], lineOf: (path) => lineOfKey(text, String(path[0] ?? "")) };
  } catch (error) {
    const { line, message } = error as { readonly line?: number; readonly message?: string };
    const problem = String(message ?? "").split("\n")[0] ?? "";
    return {
      problem: problem.replace("Invalid TOML document: ", "not valid TOML: "),
      line: line ?? 1,
    };
  }
}

function lineOfKey(text: string, key: string): number {
  const index = text.split("\n").findIndex((line) => line.trimStart().startsWith(key));
  return Math.max(0, index) + 1;
}

interface ParsedData {
  readonly value: unknown;
  /** Duplicate keys; the last of each applies. */
  readonly duplicates: readonly { readonly key: string; readonly line: number }[];
  lineOf(path: YamlPath): number;
}

type DataProblem = { readonly problem: string; readonly line: number };

/**
 * Reads JSON with comments and trailing commas. Of equal keys the last one applies.
 * @example readJsonc('{ "a": 1, }') // value: { a: 1 }
 */
export function readJsonc(text: string): ParsedData | DataProblem {
  // Loaded on demand: most folders hold only Markdown.
  const jsonc = require("jsonc-parser") as typeof import("jsonc-parser");
  const lineAt = createLineFinder(text);
  const tooDeep = depthProblem(jsonc, text);
  if (tooDeep !== undefined) {
    return { problem: `nested deeper than ${maximumDepth} levels`, line: lineAt(tooDeep) };
  }
  const errors: ParseError[] = [];
  const root = jsonc.parseTree(text, errors, { allowTrailingComma: true });
  const error = errors[0];
  if (error !== undefined || root === undefined) {
    const name = error === undefined ? "it is empty" : jsonc.printParseErrorCode(error.error);
    return { problem: `not valid JSON: ${name}`, line: lineAt(error?.offset ?? 0) };
  }
  try {
    const duplicates: { key: string; line: number }[] = [];
    const onDuplicate = (key: string, offset: number) =>
      duplicates.push({ key, line: lineAt(offset) });
    const value = convert(root, onDuplicate);
    const offsetOf = createOffsetFinder(root);
    return { value, duplicates, lineOf: (path) => lineAt(offsetOf(path)) };
  } catch (refused) {
    if (!(refused instanceof ForbiddenKey)) throw refused;
    return { problem: `"${refused.message}" cannot be a key`, line: lineAt(refused.offset) };
  }
}

class ForbiddenKey extends Error {
  readonly offset: number;

  constructor(key: string, offset: number) {
    super(key);
    this.offset = offset;
  }
}

// The library declares these as a `const enum`, which only its own compiler can read.
const opening = new Set([1, 3]);
const closing = new Set([2, 4]);
const endOfFile = 17;

/** The offset of the first value that is nested too deep for the recursive parser. */
function depthProblem(jsonc: typeof import("jsonc-parser"), text: string): number | undefined {
  const scanner = jsonc.createScanner(text, true);
  let depth = 0;
  for (let token: number = scanner.scan(); token !== endOfFile; token = scanner.scan()) {
    if (opening.has(token)) depth += 1;
    else if (closing.has(token)) depth -= 1;
    if (depth > maximumDepth) return scanner.getTokenOffset();
  }
  return undefined;
}

function convert(node: Node, onDuplicate: (key: string, offset: number) => void): unknown {
  if (node.type === "array") return (node.children ?? []).map((item) => convert(item, onDuplicate));
  if (node.type !== "object") return node.value;
  const record: Record<string, unknown> = {};
  for (const property of node.children ?? []) {
    const [key, value] = property.children ?? [];
    const name = String(key?.value);
    if (name === "__proto__" || name === "<<") throw new ForbiddenKey(name, property.offset);
    if (Object.hasOwn(record, name)) onDuplicate(name, property.offset);
    if (value !== undefined) record[name] = convert(value, onDuplicate);
  }
  return record;
}

/** Finds line numbers by binary search: a large file may have many lines and many lookups. */
function createLineFinder(text: string): (offset: number) => number {
  let starts: number[] | undefined;
  return (offset) => {
    if (starts === undefined) {
      starts = [0];
      for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) {
        starts.push(at + 1);
      }
    }
    let [from, to] = [0, starts.length];
    while (to - from > 1) {
      const middle = (from + to) >> 1;
      if ((starts[middle] ?? 0) <= offset) from = middle;
      else to = middle;
    }
    return from + 1;
  };
}

/** Finds the offset of a key or an item, or of its nearest ancestor. Indexes each object once. */
function createOffsetFinder(root: Node): (path: YamlPath) => number {
  const known = new Map<Node, ReadonlyMap<string, Node>>();
  const propertiesOf = (node: Node): ReadonlyMap<string, Node> => {
    let properties = known.get(node);
    if (properties === undefined) {
      const children = node.children ?? [];
      properties = new Map(children.map((each) => [String(each.children?.[0]?.value), each]));
      known.set(node, properties);
    }
    return properties;
  };
  return (path) => {
    let [node, offset]: [Node | undefined, number] = [root, root.offset];
    for (const step of path) {
      const isList: boolean = node?.type === "array";
      const found: Node | undefined = isList
        ? node?.children?.[Number(step)]
        : node?.type === "object"
          ? propertiesOf(node).get(String(step))
          : undefined;
      if (found === undefined) break;
      offset = found.offset;
      node = isList ? found : found.children?.[1];
    }
    return offset;
  };
}
