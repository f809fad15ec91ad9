import { quote } from "./shown-text.ts";

/** Read as data, or why it is not; the reason completes a sentence about the text. */
export type StrictJson = { readonly value: unknown } | { readonly problem: string };

export interface JsonCaps {
  readonly bytes: number;
  readonly depth: number;
}

/**
 * RFC 8259, and of that only what means one thing: a key that is there twice would leave open which
 * of the two was checked, and `__proto__` is no data. Size and depth are looked at in the text,
 * before anything is built from it.
 */
export function parseStrictJson(text: string, caps: JsonCaps): StrictJson {
  if (Buffer.byteLength(text) > caps.bytes) {
    return { problem: `larger than ${Math.floor(caps.bytes / 1024)} KB` };
  }
  if (isDeeperThan(text, caps.depth)) {
    return { problem: `nested deeper than ${caps.depth} levels` };
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { problem: `not JSON${placeOf(error, text)}` };
  }
  const key = findAmbiguousKey(text);
  return key === undefined ? { value } : { problem: key };
}

/** Counts brackets outside of strings; what is not JSON at all is found by the parser after it. */
function isDeeperThan(text: string, limit: number): boolean {
  let depth = 0;
  for (const [token] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"?|[[{]|[\]}]/gs)) {
    if (token === "[" || token === "{") depth += 1;
    else if (token === "]" || token === "}") depth -= 1;
    if (depth > limit) return true;
  }
  return false;
}

interface Level {
  /** Undefined in an array. */
  readonly keys: Set<string> | undefined;
  step: string | number;
}

/** For valid JSON: a string is a key when a colon follows. Escapes are resolved before comparing. */
function findAmbiguousKey(text: string): string | undefined {
  const levels: Level[] = [];
  for (const [token, string, colon] of text.matchAll(
    /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|[[{\]},]/gs,
  )) {
    const level = levels.at(-1);
    if (token === "{") levels.push({ keys: new Set(), step: "" });
    else if (token === "[") levels.push({ keys: undefined, step: 0 });
    else if (token === "}" || token === "]") levels.pop();
    else if (token === "," && typeof level?.step === "number") level.step += 1;
    else if (string !== undefined && colon !== undefined && level?.keys !== undefined) {
      const key = JSON.parse(string) as string;
      level.step = key;
      if (key === "__proto__") return `${renderPath(levels)}: "__proto__" cannot be a key`;
      if (level.keys.has(key)) return `${renderPath(levels)}: the key is there twice`;
      level.keys.add(key);
    }
  }
  return undefined;
}

function renderPath(levels: readonly Level[]): string {
  return levels.reduce((path, { step }) => {
    if (typeof step === "number") return `${path}[${step}]`;
    const name = /^[\w@-]{1,64}$/.test(step) ? step : quote(step);
    return path === "" ? name : `${path}.${name}`;
  }, "");
}

/** The parser says where for some mistakes; for others, the first thing that is no JSON word. */
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
