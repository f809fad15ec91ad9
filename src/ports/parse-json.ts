/**
 * `JSON.parse` for untrusted texts. V8 confuses an escaped key with another one of the same length that
 * it has read before at the same position: after `{"a":0,"\\":0}`, the second key of `{"a":0,"\n":0}` is
 * a backslash as well (nodejs/node issue 63785). A model could use that to change what is hashed,
 * compared or checked.
 */
export function parseJson(text: string): unknown {
  // Always called: it throws for invalid JSON.
  const value: unknown = JSON.parse(text);
  return hasEscapedKey(text) ? readAgain(text) : value;
}

type Container = unknown[] | Record<string, unknown>;

/** Parses valid JSON without recursion, because its depth is not bounded. */
function readAgain(text: string): unknown {
  const open: { readonly container: Container; key: string }[] = [];
  let result: unknown;
  const put = (value: unknown): void => {
    const holder = open.at(-1);
    if (holder === undefined) result = value;
    else if (Array.isArray(holder.container)) holder.container.push(value);
    else define(holder.container, holder.key, value);
  };
  for (let at = 0; at < text.length; ) {
    const character = text.charAt(at);
    if (character === "{" || character === "[") {
      const container: Container = character === "{" ? {} : [];
      put(container);
      open.push({ container, key: "" });
      at += 1;
    } else if (character === "}" || character === "]") {
      open.pop();
      at += 1;
    } else if (" \t\r\n,:".includes(character)) {
      at += 1;
    } else if (character === '"') {
      const end = endOfString(text, at);
      // Parsed alone, the string cannot be confused with an earlier key.
      const string = JSON.parse(text.slice(at, end)) as string;
      const holder = open.at(-1);
      if (holder !== undefined && isBeforeColon(text, end)) holder.key = string;
      else put(string);
      at = end;
    } else {
      const end = endOfWord(text, at);
      put(JSON.parse(text.slice(at, end)));
      at = end;
    }
  }
  return result;
}

/** Defines `__proto__` as a normal key, like `JSON.parse`. */
function define(record: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== "__proto__") record[key] = value;
  else {
    const property = { value, writable: true, enumerable: true, configurable: true };
    Object.defineProperty(record, key, property);
  }
}

function hasEscapedKey(text: string): boolean {
  let escaped = text.indexOf("\\");
  if (escaped === -1) return false;
  for (let at = text.indexOf('"'); at !== -1; ) {
    const end = endOfString(text, at);
    if (escaped < at) escaped = text.indexOf("\\", at);
    if (escaped === -1) return false;
    if (escaped < end && isBeforeColon(text, end)) return true;
    at = text.indexOf('"', end);
  }
  return false;
}

/** The index after the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text.charAt(at - 1 - escapes) === "\\") escapes += 1;
    if (escapes % 2 === 0) return at + 1;
  }
  return text.length;
}

function isBeforeColon(text: string, end: number): boolean {
  let at = end;
  while (at < text.length && " \t\r\n".includes(text.charAt(at))) at += 1;
  return text.charAt(at) === ":";
}

function endOfWord(text: string, start: number): number {
  let at = start;
  while (at < text.length && !" \t\r\n,]}".includes(text.charAt(at))) at += 1;
  return at;
}

/** Whether a value is a map from keys to values: neither null nor a list. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
