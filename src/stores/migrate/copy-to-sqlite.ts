import type { DatabaseSync } from "node:sqlite";
import type { Client } from "pg";
import { genesis } from "../../events/hash-chain.ts";
import { systemClock } from "../../ports/clock.ts";
import { runIdOf } from "../../ports/identity.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { ArtifactRows } from "../postgres/artifact-rows.ts";
import { Database, run } from "../postgres/database.ts";
import { migrations } from "../postgres/migrations.ts";
import { type BatchRow, eventsOf } from "../shared/event-batch.ts";
import { ArtifactFolder } from "../sqlite/artifact-folder.ts";
import { openDatabase } from "../sqlite/open-database.ts";
import { type CopiedTable, copiedTables, sqliteValues } from "./copied-tables.ts";
import type { MigratedStores } from "./migrate-store.ts";

const rowsAtOnce = 500;

/** Gives how many rows of each table were copied. */
export async function copyToSqlite(stores: MigratedStores): Promise<Record<string, number>> {
  const { tenant, url } = stores;
  const place = { url, ...(tenant !== undefined && { tenant }) };
  const database = await Database.load({ ...place, answerMs: 60_000 });
  try {
    const client = await database.connect({ timeouts: false });
    // The copy reads one snapshot, whatever other processes write during the copy.
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    await requireSource(client, database);
    const target = openDatabase({ path: stores.file, synchronous: "full" });
    try {
      target.exec("BEGIN IMMEDIATE");
      requireEmpty(target, stores.file);
      // Durable before the log that names them. Those of a copy that failed are found again.
      const artifacts = await copyBodies(database, stores);
      const copied = { ...(await copyAll(client, database, target, stores)), artifacts };
      target.exec("COMMIT");
      return copied;
    } finally {
      target.close();
    }
  } catch (error) {
    throw database.explain(error);
  } finally {
    await database.close();
  }
}

async function requireSource(client: Client, { place, schema }: Database): Promise<void> {
  const { plain, quoted } = schema;
  const [found] = await run(client, {
    text: "SELECT pg_catalog.to_regclass($1) IS NOT NULL AS is_there",
    values: [`${plain}.meta`],
  });
  if (found?.["is_there"] !== true) {
    throw new MandateError("usage", `The database ${place} has no schema ${plain} to copy from.`);
  }
  const [meta] = await run(client, {
    text: `SELECT value FROM ${quoted}.meta WHERE key = 'schema'`,
  });
  const version = Number(meta?.["value"] ?? 0);
  if (version !== migrations.length) {
    const advice = "Open it once with this version of mandate (mandate ls), then copy it.";
    const message = `The schema ${plain} of ${place} has version ${version}; version ${migrations.length} is needed. ${advice}`;
    throw new MandateError("database-unusable", message);
  }
  const [working] = await run(client, {
    text: `SELECT host, pid FROM ${quoted}.workers WHERE expires_at > pg_catalog.clock_timestamp() LIMIT 1`,
  });
  if (working !== undefined) {
    const who = `process ${working["pid"]} of ${working["host"]}`;
    const message = `The database ${place} is in use (${who}). Stop all servers and workers, then copy: what they write from now on would not be copied.`;
    throw new MandateError("conflict", message);
  }
  await requireNoSpreadRun(client, quoted);
}

/** Only workers continue a distributed run, and there are none on SQLite. */
async function requireNoSpreadRun(client: Client, quoted: string): Promise<void> {
  const begun = await run(client, {
    text: `SELECT DISTINCT ON (b.run) b.* FROM ${quoted}.event_batches b
           JOIN ${quoted}.runs r ON r.number = b.run AND r.outcome IS NULL ORDER BY b.run, b.first_seq`,
  });
  // SQL cannot do this: it reads no text that contains the character zero.
  const open = begun.flatMap((row) => {
    const batch = row as unknown as BatchRow;
    const id = runIdOf(batch.run);
    const [first] = eventsOf(batch, genesis(id));
    return first?.type === "run.started" && first.payload.spread !== undefined ? [id] : [];
  });
  if (open.length === 0) return;
  const ids = open.slice(0, 5).join(", ");
  const message = `Open runs (${open.length}) belong to queue workers, which SQLite does not have: ${ids}. Let them finish, or cancel them, then copy.`;
  throw new MandateError("conflict", message);
}

function requireEmpty(target: DatabaseSync, path: string): void {
  for (const { name } of copiedTables) {
    if (target.prepare(`SELECT 1 FROM ${name} LIMIT 1`).get() === undefined) continue;
    throw new MandateError(
      "conflict",
      `The database ${path} is not empty (${name}): nothing was copied. Name a file that does not exist.`,
    );
  }
}

async function copyBodies(
  database: Database,
  { artifacts, bucket, onProgress }: MigratedStores,
): Promise<number> {
  const source = bucket ?? new ArtifactRows(database);
  const folder = new ArtifactFolder(artifacts, systemClock);
  const hashes: string[] = [];
  for await (const { hash } of source.list()) hashes.push(hash);
  for (const [index, hash] of hashes.entries()) {
    const body = await source.read(hash);
    const kept = body === undefined ? undefined : await folder.keep(body);
    if (kept?.hash !== hash) {
      const message = `The artifact ${hash} cannot be copied: its body is missing or changed. Nothing was kept.`;
      throw new MandateError("database-unusable", message);
    }
    onProgress?.("artifacts", index + 1, hashes.length);
  }
  return hashes.length;
}

async function copyAll(
  client: Client,
  { schema }: Database,
  target: DatabaseSync,
  { onProgress }: MigratedStores,
): Promise<Record<string, number>> {
  const copied: Record<string, number> = {};
  for (const table of copiedTables) {
    const { name } = table;
    const from = `${schema.quoted}.${name}`;
    const [counted] = await run(client, { text: `SELECT count(*) AS count FROM ${from}` });
    const total = Number(counted?.["count"]);
    const write = target.prepare(insertOf(table));
    copied[name] = 0;
    await client.query(
      `DECLARE copied NO SCROLL CURSOR FOR SELECT ${namesOf(table)} FROM ${from} ORDER BY 1`,
    );
    for (;;) {
      const rows = await run(client, { text: `FETCH ${rowsAtOnce} FROM copied` });
      if (rows.length === 0) break;
      for (const row of rows) write.run(...sqliteValues(table, row));
      copied[name] += rows.length;
      onProgress?.(name, copied[name], total);
    }
    await client.query("CLOSE copied");
    const arrived = target.prepare(`SELECT count(*) AS count FROM ${name}`).get()?.["count"];
    if (Number(arrived) !== total) {
      const message = `The table ${name} has ${total} rows, but ${arrived} arrived. Nothing was kept.`;
      throw new MandateError("database-unusable", message);
    }
  }
  const [next] = await run(client, {
    text: `SELECT value FROM ${schema.quoted}.meta WHERE key = 'next_id'`,
  });
  // A program that has the empty file open may have reserved numbers.
  target
    .prepare("UPDATE meta SET value = max(value, ?) WHERE key = 'next_id'")
    .run(Number(next?.["value"] ?? 1));
  return copied;
}

const namesOf = ({ columns }: CopiedTable): string => columns.map(([name]) => name).join(", ");

function insertOf(table: CopiedTable): string {
  const places = table.columns.map(() => "?").join(", ");
  return `INSERT INTO ${table.name} (${namesOf(table)}) VALUES (${places})`;
}
