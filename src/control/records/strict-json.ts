import { nearestKey } from "../../agents/documents/nearest-key.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { parseJson } from "../../ports/parse-json.ts";
import { quote } from "./shown-text.ts";

/** The size limits of one record. */
const recordCaps: JsonCaps = { bytes: 256 * 1024, depth: 32 };

const maximumProblems = 10;

export type JsonRecord = Readonly<Record<string, unknown>>;

/**
 * Reads JSON from text, or from a value by way of its text, which removes everything without a JSON
 * form.
 */
export function readJson(source: unknown, what: string, caps: JsonCaps = recordCaps): unknown {
  const text = typeof source === "string" ? source : serialise(source);
  const read = text === undefined ? { problem: "not JSON" } : parseStrictJson(text, caps);
  if ("value" in read) return read.value;
  throw new MandateError("config-invalid", `${what}: ${read.problem}`);
}

function serialise(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** Adds an error for each unknown key: it may be a misspelt restriction. */
export function checkKeys(
  value: JsonRecord,
  known: readonly string[],
  path: string,
  problems: string[],
): void {
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue;
    const nearest = nearestKey(key, known);
    const hint =
      nearest === undefined ? `known are ${known.join(", ")}` : `did you mean "${nearest}"?`;
    problems.push(`${path === "" ? "" : `${path}: `}unknown key ${quote(key)}; ${hint}`);
  }
}

/** Throws all errors, one a line. */
export function refuseProblems(problems: readonly string[]): void {
  if (problems.length === 0) return;
  const shown = problems.slice(0, maximumProblems);
  if (problems.length > shown.length) shown.push(`… and ${problems.length - shown.length} more`);
  throw new MandateError("config-invalid", shown.join("\n"));
}

/** The value, or the reason why the text is invalid. */
export type StrictJson = { readonly value: unknown } | { readonly problem: string };

interface JsonCaps {
  readonly bytes: number;
  readonly depth: number;
  /** The most values in one document, since each takes time to check. */
  readonly values?: number;
}

/**
 * Parses JSON by RFC 8259, and refuses duplicate keys, where it is unclear which one was checked,
 * and `__proto__`. Size, depth and number of values are checked in the text, before anything is
 * allocated.
 */
export function parseStrictJson(text: string, caps: JsonCaps): StrictJson {
  if (Buffer.byteLength(text) > caps.bytes) {
    return { problem: `larger than ${Math.floor(caps.bytes / 1024)} KB` };
  }
  const excess = findExcess(text, caps);
  if (excess !== undefined) return { problem: excess };
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    return { problem: `not JSON${placeOf(error, text)}` };
  }
  const key = findAmbiguousKey(text);
  return key === undefined ? { value } : { problem: key };
}

/** Counts outside of strings; the parser finds invalid JSON afterwards. */
function findExcess(text: string, caps: JsonCaps): string | undefined {
  const { depth: deepest, values: most = Number.POSITIVE_INFINITY } = caps;
  let depth = 0;
  let values = 1;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quotationMark) at = endOfString(text, at) - 1;
    else if (code === comma) values++;
    else if (isClosing(code)) depth--;
    else if (isOpening(code)) {
      depth++;
      values++;
    } else continue;
    if (depth > deepest) return `nested deeper than ${deepest} levels`;
    if (values > most) return `more than ${most} values`;
  }
  return undefined;
}

const quotationMark = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const backslash = 0x5c;

function isOpening(code: number): boolean {
  return code === 0x5b || code === 0x7b;
}

function isClosing(code: number): boolean {
  return code === 0x5d || code === 0x7d;
}

/** The position after the string that begins at `start`. Linear in the length of the string. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === backslash) escapes++;
    if (escapes % 2 === 0) return at + 1;
  }
  return text.length;
}

interface Level {
  /** Undefined in an array. */
  readonly keys: Set<string> | undefined;
  step: string | number;
}

/**
 * For valid JSON: a string before a colon is a key. Escapes are decoded before keys are compared.
 */
function findAmbiguousKey(text: string): string | undefined {
  const levels: Level[] = [];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const level = levels.at(-1);
    if (isOpening(code)) {
      levels.push(text[at] === "{" ? { keys: new Set(), step: "" } : { keys: undefined, step: 0 });
    } else if (isClosing(code)) levels.pop();
    else if (code === comma && typeof level?.step === "number") level.step += 1;
    else if (code === quotationMark) {
      const end = endOfString(text, at);
      const string = text.slice(at, end);
      at = skipSpace(text, end) - 1;
      if (text.charCodeAt(at + 1) !== colon || level?.keys === undefined) continue;
      const key = string.includes("\\") ? (JSON.parse(string) as string) : string.slice(1, -1);
      level.step = key;
      if (key === "__proto__") return `${renderPath(levels)}: "__proto__" cannot be a key`;
      if (level.keys.has(key)) return `${renderPath(levels)}: the key is there twice`;
      level.keys.add(key);
    }
  }
  return undefined;
}

function skipSpace(text: string, start: number): number {
  let at = start;
  while (" \t\r\n".includes(text[at] ?? "x")) at++;
  return at;
}

function renderPath(levels: readonly Level[]): string {
  return levels.reduce((path, { step }) => {
    if (typeof step === "number") return `${path}[${step}]`;
    const name = /^[\w@-]{1,64}$/.test(step) ? step : quote(step);
    return path === "" ? name : `${path}.${name}`;
  }, "");
}

/** The position of an error, from the parser's message or from the first invalid token. */
function placeOf(error: unknown, text: string): string {
  const message = error instanceof Error ? error.message : "";
  const [, position] = /at position (\d+)/.exec(message) ?? [];
  const offset = position === undefined ? findStranger(text) : Number(position);
  if (offset >= text.length) return "";
  const before = text.slice(0, offset).split("\n");
  return ` (line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1})`;
}

function findStranger(text: string): number {
  const word =
    /[ \t\r\n]+|"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[[\]{},:]/sy;
  let offset = 0;
  while (word.test(text)) offset = word.lastIndex;
  return offset;
}
