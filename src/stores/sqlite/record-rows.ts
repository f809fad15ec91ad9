import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { RecordStanding } from "../../events/decide-record-change.ts";
import type { PreparedChange } from "../../events/prepare-record-changes.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { ControlRecord } from "../../ports/record-store.ts";

type Key = Pick<ControlRecord, "resourceType" | "resourceId">;

/** A change as its event has it. */
export interface WrittenRecord extends PreparedChange {
  readonly version: number;
  readonly actor: string;
  readonly at: number;
}

/** The control plane's records as rows: written beside the events they follow from. */
export class RecordRows {
  readonly #read: StatementSync;
  readonly #list: StatementSync;
  readonly #lastVersion: StatementSync;
  readonly #put: StatementSync;
  readonly #delete: StatementSync;
  readonly #putVersion: StatementSync;

  constructor(database: DatabaseSync) {
    const isKey = "resource_type = ? AND resource_id = ?";
    this.#read = database.prepare(`SELECT * FROM records WHERE ${isKey}`);
    // Texts are compared byte by byte, and no character begins with the last byte of all.
    this.#list = database.prepare(
      `SELECT * FROM records WHERE resource_type = ?1
         AND resource_id >= ?2 AND resource_id < ?2 || CAST(x'ff' AS TEXT) ORDER BY resource_id`,
    );
    this.#lastVersion = database.prepare(`SELECT version FROM record_versions WHERE ${isKey}`);
    this.#put = database.prepare("INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?, ?)");
    this.#delete = database.prepare(`DELETE FROM records WHERE ${isKey}`);
    this.#putVersion = database.prepare("INSERT OR REPLACE INTO record_versions VALUES (?, ?, ?)");
  }

  read(resourceType: string, resourceId: string): ControlRecord | undefined {
    const row = this.#read.get(resourceType, resourceId);
    return row && recordOf(row);
  }

  list(resourceType: string, prefix: string): readonly ControlRecord[] {
    return this.#list.all(resourceType, prefix).map(recordOf);
  }

  standingOf({ resourceType, resourceId }: Key): RecordStanding {
    const row = this.#read.get(resourceType, resourceId);
    const last = this.#lastVersion.get(resourceType, resourceId);
    const version = Number(row?.["version"] ?? 0);
    return {
      version,
      lastVersion: Math.max(version, Number(last?.["version"] ?? 0)),
      text: row === undefined ? null : String(row["value"]),
    };
  }

  write({ resourceType, resourceId, text, version, actor, at }: WrittenRecord): void {
    if (text === null) this.#delete.run(resourceType, resourceId);
    else this.#put.run(resourceType, resourceId, version, text, actor, at);
    this.#putVersion.run(resourceType, resourceId, version);
  }
}

function recordOf(row: Readonly<Record<string, unknown>>): ControlRecord {
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
    return JSON.parse(text);
  } catch (cause) {
    throw new MandateError(
      "database-unusable",
      `The stored value of record ${name} is no JSON: somebody changed the database. Delete the record, or restore the database from a copy.`,
      { cause },
    );
  }
}
