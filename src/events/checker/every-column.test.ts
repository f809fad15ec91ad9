import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SqliteStore } from "../../stores/sqlite/sqlite-store.ts";
import { cases } from "../../testing/cases.test-support.ts";
import { about, StoredRun } from "../../testing/stored-run.ts";
import type { Violation } from "./check-report.ts";
import { checkStore } from "./check-store.ts";
import { makeHealthyDatabase } from "./healthy-database.test-support.ts";
import { storedColumns, wordIndex } from "./stored-columns.test-support.ts";

const folder = mkdtempSync(join(tmpdir(), "mandate-columns-"));
const home = join(folder, "home");
const scratch = join(folder, "scratch");
const pathIn = (place: string): string => join(place, "mandate.db");

function open(place: string): SqliteStore {
  const artifacts = join(place, "artifacts");
  return new SqliteStore({ path: pathIn(place), synchronous: "normal", artifacts });
}

/** Something in every table: an open run, a pruned one that left a memory, artifacts, a reader. */
beforeAll(async () => {
  mkdirSync(home);
  await makeHealthyDatabase(pathIn(home));
  const store = open(home);
  await runWithArtifact(store);
  const pruned = await runWithMemory(store);
  const others = (await store.listRuns({ limit: 100 })).map(({ id }) => id);
  await store.prune({
    actor: "test",
    finishedBefore: Date.now() + 1000,
    most: 10,
    keep: new Set(others.filter((id) => id !== pruned)),
  });
  expect(await store.findRun(pruned)).toBeUndefined();
  const resting = await StoredRun.start(store);
  const child = await resting.child();
  const asked = { ask_id: store.newAskId(), call_id: "c1", question: "?", deadline_at: 9e12 };
  await resting.append(about(child, "agent.asked", { ...asked, default: null }));
  await store.moveCursor("reader", 3);
  await store.idempotency.begin({ principal: "me", key: "k", fingerprint: "f" }, 0);
  await store.close();
  edit(home, (database) => {
    // What a longer log does by itself.
    database.exec(
      `INSERT INTO run_index SELECT run, first_seq FROM event_batches;
       INSERT INTO meta SELECT 'indexed_seq', max(first_seq) FROM event_batches;
       INSERT OR IGNORE INTO meta VALUES ('pruned_at', 1)`,
    );
  });
}, 120_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function runWithArtifact(store: SqliteStore): Promise<void> {
  const run = await StoredRun.start(store);
  const child = await run.child();
  const artifact = await store.keepArtifact("a body that is too large for the log");
  const call = { call_id: "c1", tool: "grep" };
  await run.append(about(child, "agent.tool_started", { ...call, changes: "none" }));
  const completed = { ...call, output: "a body", bytes: artifact.bytes, artifact };
  await run.append(about(child, "agent.tool_completed", completed));
}

async function runWithMemory(store: SqliteStore): Promise<string> {
  const run = await StoredRun.start(store);
  const child = await run.child();
  const saving = { call_id: "c1", tool: "remember", changes: "none", saves_memory: true } as const;
  await run.append(about(child, "agent.tool_started", saving));
  const origin = { runId: run.id, delegationId: child, callId: "c1", lineage: [child] };
  const said = { text: "kept for long", tags: ["a"], key: "k", scope: "delegated" } as const;
  await store.memories.save({ ...origin, ...said, profile: "tester", workspace: null }, 10);
  await run.finish();
  return run.id;
}

function edit(place: string, change: (database: DatabaseSync) => void): void {
  const database = new DatabaseSync(pathIn(place));
  change(database);
  database.close();
}

async function violations(place: string): Promise<readonly Violation[]> {
  const store = open(place);
  try {
    return (await checkStore(store)).violations;
  } finally {
    await store.close();
  }
}

/** Whether verify says something that it does not say of what was not edited, or cannot go on. */
async function isFound(): Promise<boolean> {
  try {
    const found = await violations(scratch);
    return found.some((one) => !before.has(JSON.stringify(one)));
  } catch {
    return true;
  }
}

/** Runs that are written by hand are no whole lives; what a store answers for holds of them. */
const before = new Set<string>();

test("finds nothing wrong with what is stored before anything is edited", async () => {
  const found = await violations(home);
  for (const one of found) before.add(JSON.stringify(one));
  expect(
    found.filter(({ invariant }) => ["I1", "I2", "I7", "I8", "I15"].includes(invariant)),
  ).toEqual([]);
});

test("every column of the embedded database is compared with something, or declared harmless", () => {
  const known = new Set(
    Object.entries(storedColumns).flatMap(([table, columns]) =>
      Object.keys(columns).map((column) => `${table}.${column}`),
    ),
  );
  expect(columnsIn(home).filter(({ column, table }) => !known.has(`${table}.${column}`))).toEqual(
    [],
  );
});

test("an edit of any column that is not declared harmless is found, in any row", async () => {
  const missed: string[] = [];
  for (const { column, table } of columnsIn(home)) {
    if (typeof storedColumns[table]?.[column] !== "string") continue;
    for (const rowid of rowsOf(table, column)) {
      rmSync(scratch, { recursive: true, force: true });
      cpSync(home, scratch, { recursive: true });
      if (!changeCell(table, column, rowid)) continue;
      if (!(await isFound())) missed.push(`${table}.${column} ${JSON.stringify(rowid)}`);
    }
  }
  expect(missed).toEqual([]);
}, 600_000);

test.each([
  ["numbers that are given out again", "UPDATE meta SET value = 1 WHERE key = 'next_id'"],
  ["a counter that is gone", "DELETE FROM meta WHERE key = 'next_id'"],
  [
    "references that are taken for counted",
    "UPDATE meta SET value = value + 1000000 WHERE key = 'references_seq'",
  ],
  ["an index that is taken for complete", "DELETE FROM run_index WHERE run > 0"],
  [
    "a part of the log indexed for two runs",
    "INSERT INTO run_index SELECT run + 1, first_seq FROM run_index WHERE run > 0",
  ],
  ["a schema that is newer", "UPDATE meta SET value = value + 1 WHERE key = 'schema'"],
])("finds %s", async (_title, sql) => {
  rmSync(scratch, { recursive: true, force: true });
  cpSync(home, scratch, { recursive: true });
  edit(scratch, (database) => database.exec(sql));
  expect(await isFound()).toBe(true);
});

function columnsIn(place: string): readonly { readonly table: string; readonly column: string }[] {
  const database = new DatabaseSync(pathIn(place));
  const rows = database
    .prepare(
      `SELECT t.name AS "table", c.name AS "column" FROM sqlite_schema t, pragma_table_info(t.name) c
       WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'`,
    )
    .all();
  database.close();
  return rows
    .map((row) => ({ table: String(row["table"]), column: String(row["column"]) }))
    .filter(({ table }) => !wordIndex.test(table));
}

type Cells = Readonly<Record<string, SQLInputValue>>;

/** A row that has a value there and one that has none, and in the fuzzer two more that have one. */
function rowsOf(table: string, column: string): readonly Cells[] {
  const database = new DatabaseSync(pathIn(home));
  const rows = database.prepare(`SELECT * FROM ${table}`).all() as Cells[];
  database.close();
  const given = rows.filter((row) => row[column] !== null);
  const absent = rows.filter((row) => row[column] === null);
  const chosen = [given.at(-1), absent.at(-1), given[0], given[given.length >> 1]];
  return [...new Set(chosen.slice(0, cases(4, 2)).filter((row) => row !== undefined))];
}

/** Changes one cell, as an editor for databases would. False: the database itself refuses. */
function changeCell(table: string, column: string, row: Cells): boolean {
  const value = row[column] ?? null;
  const where = Object.keys(row)
    .map((name) => `${name} IS ?`)
    .join(" AND ");
  const changed = typeof value === "number" ? value + 1 : value === null ? 1 : `${String(value)}x`;
  let isChanged = false;
  edit(scratch, (database) => {
    try {
      const statement = `UPDATE ${table} SET ${column} = ? WHERE ${where}`;
      isChanged =
        Number(database.prepare(statement).run(changed, ...Object.values(row)).changes) === 1;
    } catch {
      // A key that another row has.
    }
  });
  return isChanged;
}
