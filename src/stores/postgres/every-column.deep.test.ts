import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkStore } from "../../events/checker/check-store.ts";
import { makeHealthyDatabase } from "../../events/checker/healthy-database.test-support.ts";
import { storedColumns } from "../../events/checker/stored-columns.test-support.ts";
import { isOnPostgres } from "../../testing/alter-database.test-support.ts";
import { dropDatabase, freshDatabase } from "../../testing/postgres.test-support.ts";
import { about, StoredRun } from "../../testing/stored-run.ts";
import { migrateStore } from "../migrate/migrate-store.ts";
import { PostgresStore } from "./postgres-store.ts";

let url: string;
let store: PostgresStore;
let client: pg.Client;
const folder = mkdtempSync(join(tmpdir(), "mandate-columns-"));

// Where the engine itself runs on Postgres there is no file to copy from.
const isOffered = !isOnPostgres;

beforeAll(async () => {
  if (!isOffered) return;
  const from = join(folder, "mandate.db");
  await makeHealthyDatabase(from);
  url = await freshDatabase();
  await migrateStore("postgres", { file: from, artifacts: join(folder, "artifacts"), url });
  store = await PostgresStore.open({ url });
  const run = await StoredRun.start(store);
  const child = await run.child();
  const artifact = await store.keepArtifact("a body that is too large for the log");
  const call = { call_id: "c1", tool: "grep" };
  await run.append(about(child, "agent.tool_started", { ...call, changes: "none" }));
  await run.append(about(child, "agent.tool_completed", { ...call, output: "a", artifact }));
  const finishedBefore = Date.now() + 1000;
  const runs = (await store.listRuns({ limit: 100 })).map(({ id }) => id);
  // Nothing is removed; what runs refer to is counted.
  await store.prune({ actor: "test", finishedBefore, most: 1, keep: new Set(runs) });
  client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("SET search_path = mandate");
}, 120_000);

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await client?.end();
  await store?.close();
  if (isOffered) await dropDatabase(url);
});

interface Column {
  readonly table: string;
  readonly column: string;
  readonly type: string;
}

async function columns(): Promise<readonly Column[]> {
  const { rows } = await client.query(
    `SELECT c.table_name AS "table", c.column_name AS "column", c.data_type AS type
     FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
     WHERE table_schema = 'mandate' AND t.table_type = 'BASE TABLE' ORDER BY 1, 2`,
  );
  return rows as Column[];
}

/** What an editor for databases would write into it. */
function changed({ column, type }: Column): string {
  if (column === "encoding") return "'utf16le'";
  if (type === "bytea") return `${column} || '\\x00'::bytea`;
  if (type === "text") return `coalesce(${column}, '') || 'x'`;
  return `coalesce(${column}, 0) + 1`;
}

async function messages(): Promise<readonly string[]> {
  try {
    return (await checkStore(store)).violations.map((one) => JSON.stringify(one));
  } catch (error) {
    return [String(error)];
  }
}

test.runIf(isOffered)("every column is compared with something, or declared harmless", async () => {
  const unknown = (await columns()).filter(
    ({ column, table }) => storedColumns[table]?.[column] === undefined,
  );
  expect(unknown).toEqual([]);
});

test.runIf(isOffered)(
  "an edit of any column that is not declared harmless is found",
  async () => {
    const before = new Set(await messages());
    const missed: string[] = [];
    for (const each of await columns()) {
      const { column, table } = each;
      if (typeof storedColumns[table]?.[column] !== "string") continue;
      for (const order of ["ASC NULLS LAST", "DESC NULLS LAST"]) {
        const found = await client.query(
          `SELECT ctid, ${column} AS value FROM ${table} ORDER BY ${column} ${order} LIMIT 1`,
        );
        const [row] = found.rows as { readonly ctid: string; readonly value: unknown }[];
        if (row === undefined) {
          missed.push(`${table} is empty`);
          break;
        }
        const place = await update(each, changed(each), row.ctid);
        if (place === undefined) continue;
        const isFound = (await messages()).some((one) => !before.has(one));
        if (!isFound) missed.push(`${table}.${column} ${String(row.value)}`);
        await update(each, "$2", place, row.value);
      }
    }
    expect([...new Set(missed)]).toEqual([]);
    expect(new Set(await messages())).toEqual(before);
  },
  600_000,
);

/** Where the row is afterwards; undefined: the database itself refuses. */
async function update(
  { column, table }: Column,
  value: string,
  place: string,
  ...values: readonly unknown[]
): Promise<string | undefined> {
  try {
    const { rows } = await client.query(
      `UPDATE ${table} SET ${column} = ${value} WHERE ctid = $1::tid RETURNING ctid`,
      [place, ...values],
    );
    return rows[0]?.ctid;
  } catch (error) {
    if (values.length > 0) throw error;
    return undefined;
  }
}

test.runIf(isOffered)("shows every event in SQL, with its line for people", async () => {
  const { rows } = await client.query("SELECT seq, type, summary FROM events ORDER BY seq");
  const told: unknown[] = [];
  for await (const { seq, summary, type } of store.readEvents({})) {
    told.push({ seq: String(seq), type, summary });
  }
  expect(rows).toEqual(told);
});
