import { MandateError } from "../ports/mandate-error.ts";
import type { RecordChange } from "../ports/record-store.ts";
import { headOf } from "../text.ts";
import { recordText } from "./record-text.ts";

/** A change that is fit to be stored, if the record is still at the version it was made for. */
export interface PreparedChange {
  readonly resourceType: string;
  readonly resourceId: string;
  /** `policy/agent-registry:default` */
  readonly name: string;
  readonly expectedVersion: number;
  /** Null deletes. */
  readonly text: string | null;
}

/** What can be said about changes without looking at what is stored. Every store asks this first. */
export function prepareRecordChanges(
  changes: readonly RecordChange[],
  actor: string,
): readonly PreparedChange[] {
  checkText("The name of who changes a record", actor, 200);
  const names = new Set<string>();
  return changes.map((change) => {
    const prepared = prepare(change);
    if (names.has(prepared.name)) {
      throw usage(`Record ${prepared.name} is changed twice at once. Put both into one change.`);
    }
    names.add(prepared.name);
    return prepared;
  });
}

function prepare({ resourceType, resourceId, expectedVersion, value }: RecordChange) {
  // Without a slash in it, so that a type and an id can be told apart where they stand as one name.
  if (!/^[a-z][a-z0-9_-]{0,63}$/.test(resourceType)) {
    throw usage(
      `"${headOf(resourceType, 80)}" is no type of record: it is a short word in lower case.`,
    );
  }
  checkText(`The id of a ${resourceType} record`, resourceId, 2000);
  const name = `${resourceType}/${resourceId}`;
  if (!Number.isSafeInteger(expectedVersion) || expectedVersion < 0) {
    throw usage(`Record ${name} cannot be at version ${expectedVersion}: versions count from 1.`);
  }
  if (value === null && expectedVersion === 0) {
    throw usage(`Record ${name} cannot be deleted where there must be none.`);
  }
  const text = value === null ? null : recordText(name, value);
  return { resourceType, resourceId, name, expectedVersion, text };
}

/** Names are keys in databases and stand in lines that people read: they are one short line. */
function checkText(what: string, text: string, most: number): void {
  if (text === "") throw usage(`${what} is empty.`);
  if (text.length > most)
    throw usage(`${what} has ${text.length} characters; ${most} are allowed.`);
  if (/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(text)) {
    throw usage(`${what} holds a character that is no text: ${JSON.stringify(text)}.`);
  }
}

function usage(message: string): MandateError {
  return new MandateError("usage", message);
}
