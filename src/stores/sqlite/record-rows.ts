import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { RecordStanding } from "../../events/record-change.ts";
import type { ControlRecord } from "../../ports/record-store.ts";
import {
  type RecordKey,
  type RecordStandings,
  recordOf,
  standingOfRows,
  type WrittenRecord,
} from "../shared/stored-rows.ts";

/** The control plane's records as rows: written with the events that they are derived from. */
export class RecordRows implements RecordStandings {
  readonly #read: StatementSync;
  readonly #list: StatementSync;
  readonly #lastVersion: StatementSync;
  readonly #put: StatementSync;
  readonly #delete: StatementSync;
  readonly #putVersion: StatementSync;

  constructor(database: DatabaseSync) {
    const isKey = "resource_type = ? AND resource_id = ?";
    this.#read = database.prepare(`SELECT * FROM records WHERE ${isKey}`);
    // Texts are compared byte by byte, and no character begins with the greatest byte.
    this.#list = database.prepare(
      `SELECT * FROM records WHERE resource_type = ?
         AND resource_id >= ? AND resource_id < ? || CAST(x'ff' AS TEXT) ORDER BY resource_id`,
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
    return this.#list.all(resourceType, prefix, prefix).map(recordOf);
  }

  standingOf({ resourceType, resourceId }: RecordKey): RecordStanding {
    const row = this.#read.get(resourceType, resourceId);
    const last = this.#lastVersion.get(resourceType, resourceId);
    return standingOfRows(row, last);
  }

  write({ resourceType, resourceId, text, version, actor, at }: WrittenRecord): void {
    if (text === null) this.#delete.run(resourceType, resourceId);
    else this.#put.run(resourceType, resourceId, version, text, actor, at);
    this.#putVersion.run(resourceType, resourceId, version);
  }
}
