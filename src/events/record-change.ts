import { MandateError } from "../ports/mandate-error.ts";
import type { RecordChange } from "../ports/record-store.ts";
import { headOf } from "../text.ts";
import type { NewEvent } from "./event.ts";
import { sha256 } from "./hash-chain.ts";

/**
 * Changes of control records: validated, turned into stored text, and decided against the stored version.
 * Every store uses these functions.
 */

/** A valid change, which can be stored if the record still has the expected version. */
export interface PreparedChange {
  readonly resourceType: string;
  readonly resourceId: string;
  /** `policy/agent-registry:default` */
  readonly name: string;
  readonly expectedVersion: number;
  /** Null deletes. */
  readonly text: string | null;
}

/** Validates changes without reading the store. Throws "usage". */
export function prepareRecordChanges(
  changes: readonly RecordChange[],
  actor: string,
): readonly PreparedChange[] {
  checkText("The actor's name", actor, 200);
  const names = new Set<string>();
  return changes.map((change) => {
    const prepared = prepare(change);
    if (names.has(prepared.name)) {
      throw usage(
        `Record ${prepared.name} is changed twice in one transaction. Make it one change.`,
      );
    }
    names.add(prepared.name);
    return prepared;
  });
}

function prepare({ resourceType, resourceId, expectedVersion, value }: RecordChange) {
  // No slash, so that `type/id` can be split.
  if (!/^[a-z][a-z0-9_-]{0,63}$/.test(resourceType)) {
    throw usage(
      `"${headOf(resourceType, 80)}" is not a record type: use a short word in lower case.`,
    );
  }
  checkText(`The id of a ${resourceType} record`, resourceId, 2000);
  const name = `${resourceType}/${resourceId}`;
  if (!Number.isSafeInteger(expectedVersion) || expectedVersion < 0) {
    throw usage(
      `Record ${name} cannot have version ${expectedVersion}: versions are whole numbers from 1.`,
    );
  }
  if (value === null && expectedVersion === 0) {
    throw usage(`Record ${name} cannot be deleted: expectedVersion 0 says that it does not exist.`);
  }
  const text = value === null ? null : recordText(name, value);
  return { resourceType, resourceId, name, expectedVersion, text };
}

/** Names are database keys and are shown to people: one short line. */
function checkText(what: string, text: string, most: number): void {
  if (text === "") throw usage(`${what} is empty.`);
  if (text.length > most)
    throw usage(`${what} has ${text.length} characters; at most ${most} are allowed.`);
  if (/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(text)) {
    throw usage(`${what} contains a control character: ${JSON.stringify(text)}.`);
  }
}

function usage(message: string): MandateError {
  return new MandateError("usage", message);
}

/** The stored state of a record when it is changed. */
export interface RecordStanding {
  /** 0: the record does not exist. */
  readonly version: number;
  /** The greatest version that its id ever had, including deleted ones. */
  readonly lastVersion: number;
  readonly text: string | null;
}

/**
 * The event of a change. Throws "conflict". `before_hash` is computed from the stored text, so that the
 * checker can detect a change that bypassed the log.
 */
export function decideRecordChange(
  { version, lastVersion, text }: RecordStanding,
  change: PreparedChange,
  actor: string,
): NewEvent<"control.record_changed"> {
  if (change.expectedVersion !== version) throw conflict(change, version);
  return {
    type: "control.record_changed",
    payload: {
      record: change.name,
      actor,
      version: lastVersion + 1,
      before_hash: text === null ? null : sha256(text),
      after_hash: change.text === null ? null : sha256(change.text),
    },
  };
}

function conflict({ name, expectedVersion }: PreparedChange, version: number): MandateError {
  const expected = expectedVersion === 0 ? "not there yet" : `at version ${expectedVersion}`;
  const actual = version === 0 ? "not there" : `at version ${version}`;
  return new MandateError(
    "conflict",
    `Record ${name} was expected to be ${expected} and is ${actual}: nothing was changed. Read it again and repeat the change.`,
  );
}

/** Records are settings, not documents: larger content belongs elsewhere. */
export const maximumRecordBytes = 256 * 1024;
export const maximumRecordDepth = 64;

/**
 * The text of a record's value that is stored and hashed. Throws "usage" for a value that is not JSON, too
 * large or too deep.
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
  /** The path to the current value. */
  readonly keys: (string | number)[];
  /** The remaining bytes. Also ends the walk through a value that contains itself. */
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
  if (!isPlain(value)) throw notJson(walk, "an instance of a class");
  for (const [key, item] of Object.entries(value)) {
    walk.left -= key.length;
    // As in JSON, an undefined field is absent.
    if (item !== undefined) examineAt(key, item, walk);
  }
}

function examineAt(key: string | number, value: unknown, walk: Walk): void {
  walk.keys.push(key);
  examine(value, walk);
  walk.keys.pop();
}

/** Whether an object is plain, of whichever realm, and has no `toJSON`. */
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
