import { MandateError } from "../ports/mandate-error.ts";
import type { NewEvent } from "./event.ts";
import { sha256 } from "./hash-chain.ts";
import type { PreparedChange } from "./prepare-record-changes.ts";

/** What a store holds of a record in the moment it is changed. */
export interface RecordStanding {
  /** 0: the record does not exist. */
  readonly version: number;
  /** The greatest that its id ever had, deleted ones included. */
  readonly lastVersion: number;
  readonly text: string | null;
}

/**
 * The event of a change, or a refusal. The hash before is that of the text which is really there
 * and not of the one that should be: who changed a record behind the log's back is found out by the
 * next change too.
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
