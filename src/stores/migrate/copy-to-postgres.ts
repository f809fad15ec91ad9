import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { Client } from "pg";
import { systemClock } from "../../ports/clock.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { type Database, type Row, run } from "../postgres/database.ts";
import { openDatabase } from "../postgres/open-database.ts";
import { WriteStatement } from "../postgres/write-line.ts";
import { ArtifactFolder } from "../sqlite/artifact-folder.ts";
import { migrations } from "../sqlite/migrations.ts";
import { isWorkerAlive } from "../sqlite/worker.ts";
import {
  type CopiedTable,
  copiedTables,
  postgresColumns,
  postgresValues,
} from "./copied-tables.ts";
import type { MigratedStores } from "./migrate-store.ts";

const rowsAtOnce = 500;

/** Gives how many rows of each table were copied. */
export async function copyToPostgres(stores: MigratedStores): Promise<Record<string, number>> {
  const source = openSource(stores.file);
  const { tenant, url } = stores;
  try {
    const place = { url, ...(tenant !== undefined && { tenant }) };
    const database = await openDatabase({ ...place, answerMs: 60_000 });
    try {
      const client = await database.connect({ timeouts: false });
      await client.query("BEGIN");
      await client.query(`SELECT pg_catalog.pg_advisory_xact_lock(${database.schema.lock})`);
      await requireEmpty(client, database);
      const copied = await copyAll(client, database, source, stores);
      await requireSameCounts(client, database, copied, stores);
      await client.query("COMMIT");
      return copied;
    } catch (error) {
      throw database.explain(error);
    } finally {
      await database.close();
    }
  } finally {
    source.close();
  }
}

function openSource(path: string): DatabaseSync {
  if (!existsSync(path)) {
    throw new MandateError("usage", `There is no database at ${path} to copy from.`);
  }
  const source = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
  try {
    // The copy reads one snapshot, whatever other processes write during it.
    source.exec("BEGIN");
    const row = source.prepare("SELECT value FROM meta WHERE key = 'schema'").get();
    const version = Number(row?.["value"] ?? 0);
    if (version !== migrations.length) {
      const advice = "Open it once with this version of mandate (mandate ls), then copy it.";
      const message = `The database ${path} has schema version ${version}; version ${migrations.length} is needed. ${advice}`;
      throw new MandateError("database-unusable", message);
    }
    const working = source
      .prepare("SELECT DISTINCT worker FROM runs WHERE outcome IS NULL")
      .all()
      .filter((one) => isWorkerAlive(String(one["worker"])));
    if (working.length > 0) {
      const advice =
        "Let it finish or stop it, then copy: what it writes from now on would not be copied.";
      throw new MandateError("conflict", `A process is using ${path}. ${advice}`);
    }
    return source;
  } catch (error) {
    source.close();
    throw error;
  }
}

async function requireEmpty(client: Client, { place, schema }: Database): Promise<void> {
  for (const table of [...copiedTables.map(({ name }) => name), "artifacts", "workers"]) {
    const text = `SELECT 1 FROM ${schema.quoted}.${table} LIMIT 1`;
    if ((await run(client, { text })).length === 0) continue;
    throw new MandateError(
      "conflict",
      `The schema ${schema.plain} of the database ${place} is not empty (${table}): nothing was copied. Name an empty database, or another tenant.`,
    );
  }
}

async function copyAll(
  client: Client,
  database: Database,
  source: DatabaseSync,
  stores: MigratedStores,
): Promise<Record<string, number>> {
  const { quoted } = database.schema;
  const copied: Record<string, number> = {};
  for (const table of copiedTables) {
    const { name } = table;
    const total = Number(source.prepare(`SELECT count(*) AS count FROM ${name}`).get()?.["count"]);
    let rows: Row[] = [];
    copied[name] = 0;
    const write = async (): Promise<void> => {
      await insert(client, quoted, table, rows);
      copied[name] = (copied[name] ?? 0) + rows.length;
      stores.onProgress?.(name, copied[name], total);
      rows = [];
    };
    for (const row of source.prepare(`SELECT * FROM ${name}`).iterate()) {
      rows.push(row);
      if (rows.length >= rowsAtOnce) await write();
    }
    if (rows.length > 0) await write();
  }
  copied["artifacts"] = await copyBodies(client, quoted, stores);
  const next = source.prepare("SELECT value FROM meta WHERE key = 'next_id'").get();
  await run(client, {
    text: `UPDATE ${quoted}.meta SET value = $1 WHERE key = 'next_id'`,
    values: [Number(next?.["value"] ?? 1)],
  });
  return copied;
}

/** Into the bucket, which keeps a body once, or into the transaction. */
async function copyBodies(
  client: Client,
  schema: string,
  { artifacts, bucket, onProgress }: MigratedStores,
): Promise<number> {
  const folder = new ArtifactFolder(artifacts, systemClock);
  const hashes: string[] = [];
  for await (const { hash } of folder.list()) hashes.push(hash);
  for (const [index, hash] of hashes.entries()) {
    const body = (await folder.read(hash)) ?? "";
    if (bucket !== undefined) await bucket.keep(body);
    else {
      await run(client, {
        text: `INSERT INTO ${schema}.artifacts (hash, encoding, bytes) VALUES ($1, 'utf8', $2)`,
        values: [hash, Buffer.from(body)],
      });
    }
    onProgress?.("artifacts", index + 1, hashes.length);
  }
  return hashes.length;
}

async function insert(
  client: Client,
  schema: string,
  table: CopiedTable,
  rows: readonly Row[],
): Promise<void> {
  const columns = postgresColumns(table);
  const names = columns.map(([column]) => column).join(", ");
  // A list inside a row is passed as text, because `unnest` flattens nested arrays.
  const selected = columns.map(([column]) =>
    column === "tag_list" ? `v.${column}::text[]` : `v.${column}`,
  );
  const statement = new WriteStatement();
  statement.add(
    "copied",
    columns,
    rows.map((row) => postgresValues(table, row)),
    (given) =>
      `INSERT INTO ${schema}.${table.name} (${names}) SELECT ${selected.join(", ")} FROM ${given}`,
  );
  const { text, values = [] } = statement.build("");
  await run(client, { text, values });
}

async function requireSameCounts(
  client: Client,
  { schema }: Database,
  copied: Readonly<Record<string, number>>,
  { bucket }: MigratedStores,
): Promise<void> {
  for (const [table, expected] of Object.entries(copied)) {
    if (table === "artifacts" && bucket !== undefined) continue;
    const text = `SELECT count(*) AS count FROM ${schema.quoted}.${table}`;
    const [row] = await run(client, { text });
    if (Number(row?.["count"]) === expected) continue;
    const message = `${expected} rows of ${table} were copied, but ${row?.["count"]} arrived. Nothing was kept.`;
    throw new MandateError("database-unusable", message);
  }
}
