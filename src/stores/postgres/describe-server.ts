import type { DatabasePlace } from "./database.ts";
import { Database, run } from "./database.ts";
import { migrations } from "./migrations.ts";

/** What an operator has to know of a Postgres server and of the tenant's schema in it. */
export interface ServerDescription {
  readonly version: string;
  readonly synchronousCommit: string;
  readonly fsync: string;
  readonly maxConnections: number;
  /** The connections of all programs, as far as this role may see. */
  readonly connections: number;
  readonly isEncrypted: boolean;
  /** The version of the schema; 0: no schema yet. If it is not `knownSchema`, the next start migrates it. */
  readonly schema: number;
  readonly knownSchema: number;
}

/** Asks without changing anything, also where the schema is not migrated yet. */
export async function describeServer(
  place: Omit<DatabasePlace, "answerMs">,
): Promise<ServerDescription> {
  const database = await Database.load({ ...place, answerMs: 5000 });
  try {
    const client = await database.connect();
    const { plain, quoted } = database.schema;
    const [row] = await run(client, {
      text: `SELECT pg_catalog.current_setting('server_version') AS version,
               pg_catalog.current_setting('synchronous_commit') AS synchronous_commit,
               pg_catalog.current_setting('fsync') AS fsync,
               pg_catalog.current_setting('max_connections')::integer AS max_connections,
               (SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend') AS connections,
               coalesce((SELECT ssl FROM pg_catalog.pg_stat_ssl WHERE pid = pg_catalog.pg_backend_pid()), false) AS is_encrypted,
               pg_catalog.to_regclass($1) IS NOT NULL AS is_there`,
      values: [`${plain}.meta`],
    });
    const [meta] =
      row?.["is_there"] === true
        ? await run(client, { text: `SELECT value FROM ${quoted}.meta WHERE key = 'schema'` })
        : [];
    return {
      version: String(row?.["version"]),
      synchronousCommit: String(row?.["synchronous_commit"]),
      fsync: String(row?.["fsync"]),
      maxConnections: Number(row?.["max_connections"]),
      connections: Number(row?.["connections"]),
      isEncrypted: row?.["is_encrypted"] === true,
      schema: Number(meta?.["value"] ?? 0),
      knownSchema: migrations.length,
    };
  } catch (error) {
    throw database.explain(error);
  } finally {
    await database.close();
  }
}
