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
import { maximumDepth, type Refuse, toPlainValue } from "./yaml-plain-value.ts";

export type YamlPath = readonly (string | number)[];

export interface ParsedYaml {
  /** Plain JSON data: objects, arrays, strings, finite numbers, booleans and null. */
  readonly value: unknown;
  /** The line of the key or item at `path`, or of its nearest ancestor that exists; from 1. */
  lineOf(path: YamlPath): number;
}

export interface YamlOptions {
  /** What the caller throws for a bad file of its kind; "config-invalid" unless told. */
  readonly code?: MandateErrorCode;
  /** The line of `text`'s first line within its file: front matter begins at 2. */
  readonly firstLine?: number;
  /** Characters; a million unless told. */
  readonly maximumLength?: number;
  /** For files of other programs: the last of two equal keys counts, and is reported here. */
  readonly onDuplicate?: (line: number, key: string) => void;
}

const defaultLength = 1_000_000;
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the point.
const controlCharacter = /[\u0000-\u0008\u000b\u000c\u000e-\u001f]/;

/**
 * Reads one YAML (or JSON) document as plain data, and refuses whatever could surprise: duplicate
 * keys, unknown tags, merge keys, `__proto__`, other YAML versions (where `no` is false), several
 * documents, many or circular aliases, numbers that are not finite or not exact. Throws a
 * MandateError that names file:line.
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
  if (explicit && version !== "1.2") refuse(0, "only YAML 1.2 is read; remove the %YAML line");

  const { onDuplicate } = options;
  const value = toPlainValue(
    document,
    refuse,
    onDuplicate && ((offset, key) => onDuplicate(lineAt(offset), key)),
  );
  return { value, lineOf: (path) => lineAt(offsetOf(document, path)) };
}

/** Some of them quote the file, and a line of it can be all of it. */
function shorten(problem: string): string {
  return clip(problem, 301);
}

function compose(text: string, lineCounter: LineCounter, refuse: Refuse): Document.Parsed {
  const composer = new Composer({
    prettyErrors: false,
    resolveKnownTags: false,
    schema: "core",
    // Compared when they are converted: here every key would be compared with every other.
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
 * Stops at the first node that lies too deep: the composer recurses, and an exhausted stack there
 * can end the process where no `catch` hears of it.
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
