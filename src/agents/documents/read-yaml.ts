import {
  Composer,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type ParsedNode,
  Parser,
} from "yaml";
import { MandateError, type MandateErrorCode } from "../../ports/mandate-error.ts";
import { clip } from "../../text.ts";

export type YamlPath = readonly (string | number)[];

export interface ParsedYaml {
  /** Plain JSON data. */
  readonly value: unknown;
  /** The line of the key or item at `path`, or of its nearest ancestor in the document; from 1. */
  lineOf(path: YamlPath): number;
}

interface YamlOptions {
  /** The code of the MandateError; "config-invalid" by default. */
  readonly code?: MandateErrorCode;
  /** The line of the file at which `text` begins; the front matter begins at 2. */
  readonly firstLine?: number;
  /** The most characters; a million by default. */
  readonly maximumLength?: number;
  /** For files of other programs: of two equal keys the last one counts, and this is called. */
  readonly onDuplicate?: (line: number, key: string) => void;
}

const defaultLength = 1_000_000;
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the point.
const controlCharacter = /[\u0000-\u0008\u000b\u000c\u000e-\u001f]/;

/**
 * Reads one YAML (or JSON) document as plain data, and refuses what YAML readers interpret
 * differently: duplicate keys, unknown tags, merge keys, `__proto__`, YAML 1.1 (where `no` is
 * false), several documents, circular aliases or too many, numbers that are not finite or not
 * exact. Throws a MandateError that names file:line.
 */
export function parseYaml(text: string, file: string, options: YamlOptions = {}): ParsedYaml {
  const lineCounter = new LineCounter();
  const shift = (options.firstLine ?? 1) - 1;
  const lineAt = (offset: number) => Math.max(1, lineCounter.linePos(offset).line) + shift;
  const refuse: Refuse = (offset, problem) => {
    throw new MandateError(
      options.code ?? "config-invalid",
      `${file}:${lineAt(offset)}: ${shorten(problem)}`,
    );
  };
  const { maximumLength = defaultLength } = options;
  if (text.length > maximumLength) {
    refuse(0, `the file is larger than ${Math.floor(maximumLength / 1_000_000)} MB`);
  }

  const document = compose(text, lineCounter, refuse);
  const strayAt = text.search(controlCharacter);
  if (strayAt >= 0) refuse(strayAt, "a control character that is not text");
  const problem = document.errors[0] ?? document.warnings[0];
  if (problem !== undefined) refuse(problem.pos[0], problem.message);
  const { explicit, version } = document.directives.yaml;
  if (explicit && version !== "1.2") refuse(0, "only YAML 1.2 is supported; remove the %YAML line");

  const { onDuplicate } = options;
  const value = toPlainValue(
    document,
    refuse,
    onDuplicate && ((offset, key) => onDuplicate(lineAt(offset), key)),
  );
  return { value, lineOf: (path) => lineAt(offsetOf(document, path)) };
}

/** The parser's message can quote a line, and a line can be the whole file. */
function shorten(problem: string): string {
  return clip(problem, 301);
}

function compose(text: string, lineCounter: LineCounter, refuse: Refuse): Document.Parsed {
  const composer = new Composer({
    prettyErrors: false,
    resolveKnownTags: false,
    schema: "core",
    // `toPlainValue` compares keys: the composer would compare every key with every other key.
    uniqueKeys: false,
    version: "1.2",
  });
  const documents = composer.compose(readTokens(text, lineCounter, refuse), true, text.length);
  const first = documents.next().value as Document.Parsed;
  const second = documents.next().value;
  if (second !== undefined) refuse(second.range[0], "one document only; remove the second one");
  return first;
}

/**
 * Stops at the first node that is nested too deep: the composer recurses, and a stack overflow in
 * it can end the process without reaching any `catch`.
 */
function* readTokens(text: string, lineCounter: LineCounter, refuse: Refuse) {
  const parser = new Parser(lineCounter.addNewLine);
  lineCounter.addNewLine(0);
  for (const lexeme of new Lexer().lex(text)) {
    yield* parser.next(lexeme);
    if (parser.stack.length > maximumDepth) {
      refuse(parser.offset, `nested deeper than ${maximumDepth} levels`);
    }
  }
  yield* parser.end();
}

function offsetOf(document: Document.Parsed, path: YamlPath): number {
  let node: ParsedNode | null = document.contents;
  let offset = node?.range[0] ?? 0;
  for (const step of path) {
    if (isAlias(node)) node = (node.resolve(document) as ParsedNode | undefined) ?? null;
    if (isMap(node)) {
      const entries = node.items as { key: ParsedNode; value: ParsedNode | null }[];
      const entry = entries.find(({ key }) => isScalar(key) && String(key.value) === String(step));
      if (entry === undefined) break;
      offset = entry.key.range[0];
      node = entry.value;
    } else if (isSeq(node)) {
      const item = node.items[Number(step)] as ParsedNode | undefined;
      if (item === undefined) break;
      offset = item.range[0];
      node = item;
    } else break;
  }
  return offset;
}

const maximumDepth = 64;
const maximumAliases = 20;

/** Throws the error of the caller, with the line of `offset`. */
type Refuse = (offset: number, problem: string) => never;

/** Converts nodes to plain data. Written by hand, because keys and aliases are untrusted. */
function toPlainValue(
  document: Document.Parsed,
  refuse: Refuse,
  onDuplicate?: (offset: number, key: string) => void,
): unknown {
  // Counts every alias that is followed, so that both an expansion bomb and a cycle reach the
  // limit.
  let aliases = 0;

  function convert(node: ParsedNode | null, depth: number): unknown {
    if (node === null) return null;
    const offset = node.range[0];
    if (depth > maximumDepth) refuse(offset, `nested deeper than ${maximumDepth} levels`);
    if (isScalar(node)) return scalar(node.value, node.source, offset);
    if (isSeq(node)) return node.items.map((item) => convert(item as ParsedNode, depth + 1));
    if (isMap(node)) {
      const entries = node.items as { key: ParsedNode; value: ParsedNode | null }[];
      return record(entries, depth);
    }
    aliases += 1;
    if (aliases > maximumAliases) refuse(offset, `aliases are followed ${maximumAliases} times`);
    const target = node.resolve(document);
    if (target === undefined) refuse(offset, `the alias "${node.source}" has no anchor`);
    return convert(target as ParsedNode, depth + 1);
  }

  function record(
    entries: readonly { key: ParsedNode; value: ParsedNode | null }[],
    depth: number,
  ): Record<string, unknown> {
    const plain: Record<string, unknown> = {};
    for (const { key, value } of entries) {
      const offset = key.range[0];
      if (!isScalar(key)) return refuse(offset, "a key must be plain text");
      const name = String(key.value);
      if (name === "<<") refuse(offset, 'merge keys ("<<") are not supported; write the keys out');
      if (name === "__proto__") refuse(offset, '"__proto__" cannot be a key');
      if (Object.hasOwn(plain, name)) {
        if (onDuplicate === undefined) refuse(offset, `the key "${name}" is there twice`);
        onDuplicate(offset, name);
      }
      plain[name] = convert(value, depth + 1);
    }
    return plain;
  }

  function scalar(value: unknown, source: string | undefined, offset: number): unknown {
    if (typeof value !== "number") return value;
    if (!Number.isFinite(value)) refuse(offset, `${source ?? value} is not a finite number`);
    const inexact = !Number.isSafeInteger(value) && /^[-+]?\d+$/.test(source ?? "");
    if (inexact) refuse(offset, `${source} is too large to be exact; quote it if it is text`);
    return value;
  }

  return convert(document.contents, 0);
}
