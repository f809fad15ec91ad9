import { MandateError } from "../ports/mandate-error.ts";
import { headOf } from "../text.ts";

/** Records are settings, not documents: what is larger belongs elsewhere and is named here. */
export const maximumRecordBytes = 256 * 1024;
export const maximumRecordDepth = 64;

/**
 * The exact text of a record's value that is stored and hashed. Refuses what would be another value
 * when it is read back, and looks at size and depth before it writes anything down.
 */
export function recordText(name: string, value: unknown): string {
  const walk: Walk = { name, keys: [], left: maximumRecordBytes };
  examine(value, walk);
  const text = JSON.stringify(value);
  if (Buffer.byteLength(text) > maximumRecordBytes) throw tooLarge(walk);
  return text;
}

interface Walk {
  readonly name: string;
  /** Where in the value we are. */
  readonly keys: (string | number)[];
  /** Bytes that are left at best; also what ends the walk through a value that contains itself. */
  left: number;
}

function examine(value: unknown, walk: Walk): void {
  walk.left -= typeof value === "string" ? value.length + 2 : 1;
  if (walk.left < 0) throw tooLarge(walk);
  switch (typeof value) {
    case "string":
    case "boolean":
      return;
    case "number":
      if (!Number.isFinite(value)) throw notJson(walk, String(value));
      return;
    case "object":
      if (value !== null) examineInside(value, walk);
      return;
    default:
      throw notJson(walk, typeof value);
  }
}

function examineInside(value: object, walk: Walk): void {
  if (walk.keys.length >= maximumRecordDepth) {
    throw refusal(walk.name, `is nested deeper than ${maximumRecordDepth} levels. Flatten it`);
  }
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) examineAt(index, item, walk);
    return;
  }
  if (!isPlain(value)) throw notJson(walk, "an object with a class of its own");
  for (const [key, item] of Object.entries(value)) {
    walk.left -= key.length;
    // As everywhere in JSON, a field without a value is a field that is not there.
    if (item !== undefined) examineAt(key, item, walk);
  }
}

function examineAt(key: string | number, value: unknown, walk: Walk): void {
  walk.keys.push(key);
  examine(value, walk);
  walk.keys.pop();
}

/** Of no class, in whichever realm it was made, and not with a text of its own choosing. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  const isOfNoClass = prototype === null || Object.getPrototypeOf(prototype) === null;
  return isOfNoClass && typeof (value as { toJSON?: unknown }).toJSON !== "function";
}

function notJson({ name, keys }: Walk, what: string): MandateError {
  const place = keys.length === 0 ? "" : ` at ${headOf(keys.join("."), 200)}`;
  return refusal(name, `is not JSON: ${what}${place}. Give plain objects, lists, texts, numbers`);
}

function tooLarge({ name }: Walk): MandateError {
  return refusal(name, `is larger than ${maximumRecordBytes / 1024} KB. Make it smaller`);
}

function refusal(name: string, why: string): MandateError {
  return new MandateError("usage", `The value of record ${name} ${why}. Nothing was changed.`);
}
