import type { RecordStanding } from "../../events/record-change.ts";
import type { ControlRecord } from "../../ports/record-store.ts";
import {
  type RecordKey,
  type RecordStandings,
  recordOf,
  standingOfRows,
  type WrittenRecord,
} from "../shared/stored-rows.ts";
import type { Database, Row, Statement } from "./database.ts";
import type { WriteStatement } from "./write-line.ts";

/** The control plane's records as rows: written with the events that they are derived from. */
export class RecordRows {
  readonly #database: Database;
  readonly #schema: string;

  constructor(database: Database) {
    this.#database = database;
    this.#schema = database.schema.quoted;
  }

  async read(resourceType: string, resourceId: string): Promise<ControlRecord | undefined> {
    if (isUnstorable(resourceType) || isUnstorable(resourceId)) return undefined;
    const [row] = await this.#database.query({
      name: "record",
      text: `SELECT * FROM ${this.#schema}.records WHERE resource_type = $1 AND resource_id = $2`,
      values: [resourceType, resourceId],
    });
    return row && recordOf(row);
  }

  async list(resourceType: string, prefix: string): Promise<readonly ControlRecord[]> {
    if (isUnstorable(resourceType) || isUnstorable(prefix)) return [];
    const rows = await this.#database.query({
      text: `SELECT * FROM ${this.#schema}.records WHERE resource_type = $1 AND resource_id >= $2
               AND pg_catalog.starts_with(resource_id, $2) ORDER BY resource_id`,
      values: [resourceType, prefix],
    });
    return rows.map(recordOf);
  }

  /** The statement that is run under the lock before the changes are decided. */
  standings(keys: readonly RecordKey[]): Statement {
    return {
      name: "record-standings",
      text: `SELECT k.resource_type, k.resource_id, r.version, r.value, v.version AS last_version
             FROM unnest($1::text[], $2::text[]) AS k(resource_type, resource_id)
             LEFT JOIN ${this.#schema}.records r USING (resource_type, resource_id)
             LEFT JOIN ${this.#schema}.record_versions v USING (resource_type, resource_id)`,
      values: [
        keys.map(({ resourceType }) => resourceType),
        keys.map(({ resourceId }) => resourceId),
      ],
    };
  }

  write(statement: WriteStatement, records: Iterable<WrittenRecord>): void {
    const all = [...records];
    const keyOf = ({ resourceId, resourceType }: RecordKey) => [resourceType, resourceId] as const;
    const key = [
      ["resource_type", "text"],
      ["resource_id", "text"],
    ] as const;
    statement.add(
      "deleted_records",
      key,
      all.filter(({ text }) => text === null).map(keyOf),
      (rows) =>
        `DELETE FROM ${this.#schema}.records r USING ${rows} WHERE r.resource_type = v.resource_type AND r.resource_id = v.resource_id`,
    );
    statement.add(
      "put_records",
      [
        ...key,
        ["version", "bigint"],
        ["value", "text"],
        ["updated_by", "text"],
        ["updated_at", "bigint"],
      ],
      all
        .filter(({ text }) => text !== null)
        .map((one) => [...keyOf(one), one.version, one.text, one.actor, one.at]),
      (rows) =>
        `INSERT INTO ${this.#schema}.records SELECT * FROM ${rows} ON CONFLICT (resource_type, resource_id)
         DO UPDATE SET version = excluded.version, value = excluded.value, updated_by = excluded.updated_by, updated_at = excluded.updated_at`,
    );
    statement.add(
      "put_versions",
      [...key, ["version", "bigint"]],
      all.map((one) => [...keyOf(one), one.version]),
      (rows) =>
        `INSERT INTO ${this.#schema}.record_versions SELECT * FROM ${rows} ON CONFLICT (resource_type, resource_id)
         DO UPDATE SET version = excluded.version`,
    );
  }
}

/** The result of that statement, for deciding without waiting. */
export function standingsOf(rows: readonly Row[]): RecordStandings {
  const standings = new Map<string, RecordStanding>();
  for (const row of rows) {
    const now = row["version"] === null ? undefined : row;
    const last = row["last_version"] === null ? undefined : { version: row["last_version"] };
    standings.set(nameOf(row["resource_type"], row["resource_id"]), standingOfRows(now, last));
  }
  return {
    standingOf: ({ resourceId, resourceType }) =>
      standings.get(nameOf(resourceType, resourceId)) ?? standingOfRows(undefined, undefined),
  };
}

function nameOf(resourceType: unknown, resourceId: unknown): string {
  return `${resourceType}/${resourceId}`;
}

/** No record can have such a name, and Postgres rejects it even in a query. */
function isUnstorable(text: string): boolean {
  return text.includes("\u0000") || !text.isWellFormed();
}
