import type { RecordStanding } from "../../events/decide-record-change.ts";
import type { PreparedChange } from "../../events/prepare-record-changes.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { parseJson } from "../../ports/parse-json.ts";
import type { ControlRecord } from "../../ports/record-store.ts";

export type RecordKey = Pick<ControlRecord, "resourceType" | "resourceId">;

/** What records are in the moment in which they are changed. */
export interface RecordStandings {
  standingOf(key: RecordKey): RecordStanding;
}

/** A change as its event has it. */
export interface WrittenRecord extends PreparedChange {
  readonly version: number;
  readonly actor: string;
  readonly at: number;
}

/** What a record is when it is changed, from its row and from the row of its versions. */
export function standingOfRows(
  row: Readonly<Record<string, unknown>> | undefined,
  last: Readonly<Record<string, unknown>> | undefined,
): RecordStanding {
  const version = Number(row?.["version"] ?? 0);
  return {
    version,
    lastVersion: Math.max(version, Number(last?.["version"] ?? 0)),
    text: row === undefined ? null : String(row["value"]),
  };
}

export function recordOf(row: Readonly<Record<string, unknown>>): ControlRecord {
  const resourceType = String(row["resource_type"]);
  const resourceId = String(row["resource_id"]);
  return {
    resourceType,
    resourceId,
    version: Number(row["version"]),
    value: parseValue(`${resourceType}/${resourceId}`, String(row["value"])),
    updatedBy: String(row["updated_by"]),
    updatedAt: Number(row["updated_at"]),
  };
}

function parseValue(name: string, text: string): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    throw new MandateError(
      "database-unusable",
      `The stored value of record ${name} is no JSON: the database was changed. Delete the record, or restore the database from a copy.`,
      { cause },
    );
  }
}
