import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Client } from "pg";
import { checkStore } from "../events/checker/check-store.ts";
import { MandateError } from "../ports/mandate-error.ts";
import { type Database, type Row, run } from "./postgres/database.ts";
import { openDatabase } from "./postgres/open-database.ts";
import { PostgresStore } from "./postgres/postgres-store.ts";
import { encodeText, wordVectorOf } from "./postgres/stored-text.ts";
import { WriteStatement } from "./postgres/write-line.ts";
import { migrations } from "./sqlite/migrations.ts";
import { isWorkerAlive } from "./sqlite/worker.ts";

export interface MigrationOptions {
  /** The file of the SQLite database. It is only read. */
  readonly from: string;
  /** The folder of the artifacts. */
  readonly artifacts: string;
  readonly url: string;
  readonly tenant?: string | undefined;
  readonly onProgress?: (table: string, copied: number, of: number) => void;
}

export interface MigrationReport {
  /** How many rows of each table were copied. */
  readonly copied: Readonly<Record<string, number>>;
  readonly events: number;
  readonly violations: readonly string[];
}

const rowsAtOnce = 500;

/**
 * Copies a SQLite database into an empty Postgres schema in one transaction: either all rows are
 * copied unchanged, or none. Afterwards the copy is checked against the invariants.
 */
export async function migrateStore(options: MigrationOptions): Promise<MigrationReport> {
  const source = openSource(options.from);
  const { tenant, url } = options;
  const place = { url, ...(tenant !== undefined && { tenant }) };
  try {
    const database = await openDatabase({ ...place, answerMs: 60_000 });
    let copied: Record<string, number>;
    try {
      const client = await database.connect({ timeouts: false });
      await client.query("BEGIN");
      await client.query(`SELECT pg_catalog.pg_advisory_xact_lock(${database.schema.lock})`);
      await requireEmpty(client, database);
      copied = await copyAll(client, database, source, options);
      await requireSameCounts(client, database, copied);
      await client.query("COMMIT");
    } catch (error) {
      throw database.explain(error);
    } finally {
      await database.close();
    }
    return { copied, ...(await verify(place)) };
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
    // One snapshot, whatever other processes write during the copy.
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
  { artifacts, onProgress }: MigrationOptions,
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
      onProgress?.(name, copied[name], total);
      rows = [];
    };
    for (const row of source.prepare(`SELECT * FROM ${name}`).iterate()) {
      rows.push(row);
      if (rows.length >= rowsAtOnce) await write();
    }
    if (rows.length > 0) await write();
  }
  const files = globSync("??/*", { cwd: artifacts }).filter((file) =>
    /^[0-9a-f]{64}$/.test(basename(file)),
  );
  for (const [index, file] of files.entries()) {
    await run(client, {
      text: `INSERT INTO ${quoted}.artifacts (hash, encoding, bytes) VALUES ($1, 'utf8', $2)`,
      values: [basename(file), readFileSync(join(artifacts, file))],
    });
    onProgress?.("artifacts", index + 1, files.length);
  }
  copied["artifacts"] = files.length;
  const next = source.prepare("SELECT value FROM meta WHERE key = 'next_id'").get();
  await run(client, {
    text: `UPDATE ${quoted}.meta SET value = $1 WHERE key = 'next_id'`,
    values: [Number(next?.["value"] ?? 1)],
  });
  return copied;
}

async function insert(
  client: Client,
  schema: string,
  { columns, name, valuesOf }: CopiedTable,
  rows: readonly Row[],
): Promise<void> {
  const names = columns.map(([column]) => column).join(", ");
  // A list inside a row is passed as text, because `unnest` flattens nested arrays.
  const selected = columns.map(([column]) =>
    column === "tag_list" ? `v.${column}::text[]` : `v.${column}`,
  );
  const statement = new WriteStatement();
  statement.add(
    "copied",
    columns,
    rows.map((row) => valuesOf(row)),
    (given) =>
      `INSERT INTO ${schema}.${name} (${names}) SELECT ${selected.join(", ")} FROM ${given}`,
  );
  const { text, values = [] } = statement.build("");
  await run(client, { text, values });
}

async function requireSameCounts(
  client: Client,
  { schema }: Database,
  copied: Readonly<Record<string, number>>,
): Promise<void> {
  for (const [table, expected] of Object.entries(copied)) {
    const text = `SELECT count(*) AS count FROM ${schema.quoted}.${table}`;
    const [row] = await run(client, { text });
    if (Number(row?.["count"]) === expected) continue;
    const message = `${expected} rows of ${table} were copied, but ${row?.["count"]} arrived. Nothing was kept.`;
    throw new MandateError("database-unusable", message);
  }
}

async function verify(place: { readonly url: string; readonly tenant?: string }) {
  const store = await PostgresStore.open(place);
  try {
    const { events, violations } = await checkStore(store);
    return {
      events,
      violations: violations.map(({ invariant, message, runId = "", seq = "" }) =>
        [invariant, runId, seq, message].filter((part) => part !== "").join(" "),
      ),
    };
  } finally {
    await store.close();
  }
}

type Value = string | number | null;
type Column = readonly [name: string, type: string];

/** A table that both databases have, and how a SQLite row becomes a Postgres row. */
export interface CopiedTable {
  readonly name: string;
  readonly columns: readonly Column[];
  valuesOf(row: Row): readonly Value[];
}

/** JSON, hashes and names that the log depends on: copied byte for byte. */
function asItIs(name: string, ...columns: readonly Column[]): CopiedTable {
  return { name, columns, valuesOf: (row) => columns.map(([column]) => cellOf(row[column])) };
}

/** Text written by people and models, encoded as Postgres can store it. */
function encoded(name: string, ...columns: readonly Column[]): CopiedTable {
  const { valuesOf } = asItIs(name, ...columns);
  return { name, columns, valuesOf: (row) => valuesOf(row).map(encode) };
}

const big = (...names: readonly string[]): readonly Column[] =>
  names.map((name) => [name, "bigint"]);
const text = (...names: readonly string[]): readonly Column[] =>
  names.map((name) => [name, "text"]);
const small = (...names: readonly string[]): readonly Column[] =>
  names.map((name) => [name, "integer"]);

const memories = encoded(
  "memories",
  ...big("number", "run", "created_at"),
  ...text("id", "sub_agent_id", "call_id", "lineage", "profile", "workspace", "scope"),
  ...text("key", "slot", "tags", "text", "supersedes"),
);

const copiedTables: readonly CopiedTable[] = [
  asItIs(
    "event_batches",
    ...big("first_seq", "run", "first_run_seq"),
    ...small("count"),
    ...text("hash", "events"),
  ),
  encoded(
    "runs",
    ...big("number", "started_at", "finished_at", "tokens"),
    ...text("task", "application", "workspace", "worker", "outcome"),
    ...small("fence", "delegations"),
    ["cost", "double precision"],
  ),
  asItIs(
    "sub_agents",
    ...big("number", "run"),
    ...text("id", "status", "close_reason", "contract_hash", "context_json"),
  ),
  asItIs("asks", ...big("number", "run"), ...text("sub_agent_id"), ...small("answered")),
  encoded("texts", ...text("hash", "body")),
  asItIs(
    "records",
    ...text("resource_type", "resource_id", "value", "updated_by"),
    ...big("version", "updated_at"),
  ),
  asItIs("record_versions", ...text("resource_type", "resource_id"), ...big("version")),
  encoded(
    "inbox",
    ...big("seq", "run", "at", "deadline_at"),
    ...text("sub_agent_id", "kind", "severity", "title", "text", "ask_id", "ask_default"),
    ...small("is_open"),
  ),
  encoded("inbox_cursors", ...text("reader"), ...big("seq")),
  {
    ...memories,
    columns: [...memories.columns, ["tag_list", "text"], ["words", "tsvector"]],
    valuesOf(row) {
      const tags = (JSON.parse(String(row["tags"])) as unknown[]).map(String);
      const list = `{${tags.map((tag) => quoted(encodeText(tag))).join(",")}}`;
      return [...memories.valuesOf(row), list, wordVectorOf(String(row["text"]), tags)];
    },
  },
  encoded(
    "request_keys",
    ...text("principal", "key", "fingerprint", "worker", "reply"),
    ...big("begun_at"),
    ...small("status"),
  ),
];

/** Quotes one element of a Postgres array literal. */
function quoted(element: string): string {
  return `"${element.replaceAll(/["\\]/g, "\\$&")}"`;
}

function cellOf(value: unknown): Value {
  if (value === null || value === undefined) return null;
  return typeof value === "number" ? value : String(value);
}

function encode(value: Value): Value {
  return typeof value === "string" ? encodeText(value) : value;
}
