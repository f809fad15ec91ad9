import { closeSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { NewEvent, StoredEvent } from "../../events/event.ts";
import { inboxChangeOf } from "../../events/inbox-change.ts";
import { touchesInbox } from "../../events/inbox-item.ts";
import { applyToRun, emptyRun, type RunState } from "../../events/run-state.ts";
import { upcast } from "../../events/upcast.ts";
import { controlRunId, firstNumber, runIdOf } from "../../ports/identity.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { RunIndex } from "./batch-rows.ts";
import { InboxRows } from "./inbox-rows.ts";
import { migrations } from "./migrations.ts";

export interface DatabaseOptions {
  /** A file, or ":memory:". */
  readonly path: string;
  /** "full" survives a power failure, "normal" a killed process. */
  readonly synchronous: "full" | "normal";
}

/** Opens the database and migrates its schema. Throws a `MandateError` that explains a failure. */
export function openDatabase(options: DatabaseOptions): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    createPrivate(options.path);
    database = new DatabaseSync(options.path, { timeout: busyTimeoutMs });
    turnOnWriteAheadLog(database);
    // Checkpoints every 16 MB: a quarter of the work of SQLite's default of 4 MB, and still little
    // to read.
    database.exec(
      `PRAGMA wal_autocheckpoint = 4000; PRAGMA synchronous = ${options.synchronous === "full" ? "FULL" : "NORMAL"};`,
    );
    migrate(database, options.path);
    return database;
  } catch (cause) {
    database?.close();
    if (cause instanceof MandateError) throw cause;
    throw unusable(options.path, cause);
  }
}

/** How long to wait for other processes that write. */
const busyTimeoutMs = 5000;
const pauseMs = 2;

/**
 * SQLite waits for locks, but not here: of several processes that switch a database to write-ahead
 * logging at once, all but one fail immediately. So this waits itself.
 */
function turnOnWriteAheadLog(database: DatabaseSync): void {
  for (let waitedMs = 0; ; waitedMs += pauseMs) {
    try {
      database.exec("PRAGMA journal_mode = WAL");
      return;
    } catch (error) {
      if (!isBusy(error) || waitedMs > busyTimeoutMs) throw error;
      Atomics.wait(neverNotified, 0, 0, pauseMs);
    }
  }
}

const neverNotified = new Int32Array(new SharedArrayBuffer(4));

function isBusy(error: unknown): boolean {
  const code = error instanceof Error ? (error as { errcode?: unknown }).errcode : undefined;
  return typeof code === "number" && (code & 0xff) === 5;
}

function migrate(database: DatabaseSync, path: string): void {
  if (schemaVersion(database) === migrations.length) return;
  // Two processes may start at once: the second one waits here and then finds nothing to do.
  database.exec("BEGIN IMMEDIATE");
  try {
    database.exec("CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL)");
    const version = schemaVersion(database);
    if (version > migrations.length) throw newer(path, version);
    const hasInbox = hasTable(database, "inbox");
    for (const step of migrations.slice(version)) database.exec(step);
    if (!hasInbox) fillInbox(database);
    database
      .prepare(
        "INSERT INTO meta VALUES ('schema', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
      )
      .run(migrations.length);
    database
      .prepare("INSERT OR IGNORE INTO meta VALUES ('next_id', ?)")
      .run(path === ":memory:" ? 1 : firstNumber());
    database.exec("COMMIT");
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
}

function schemaVersion(database: DatabaseSync): number {
  if (!hasTable(database, "meta")) return 0;
  const row = database.prepare("SELECT value FROM meta WHERE key = 'schema'").get();
  return Number(row?.["value"] ?? 0);
}

function hasTable(database: DatabaseSync, name: string): boolean {
  return database.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?").get(name) !== undefined;
}

function newer(path: string, version: number): MandateError {
  return new MandateError(
    "database-newer",
    `The database ${path} was written by a newer Mandate (schema ${version}, this one knows ${migrations.length}). Update mandate, or point MANDATE_HOME elsewhere.`,
  );
}

function unusable(path: string, cause: unknown): MandateError {
  const why = cause instanceof Error ? cause.message : String(cause);
  const advice = isDamaged(cause)
    ? "The file is damaged or not a database. Restore it from a backup, or start with a new one: rename the file, or set MANDATE_HOME to another folder."
    : "Check that its folder exists and is writable, or set MANDATE_HOME to one that is.";
  return new MandateError(
    "database-unusable",
    `The database ${path} cannot be opened (${why}). ${advice}`,
    { cause },
  );
}

/** SQLITE_CORRUPT and SQLITE_NOTADB. */
function isDamaged(cause: unknown): boolean {
  const code = (cause as { readonly errcode?: unknown } | null)?.errcode;
  return typeof code === "number" && [11, 26].includes(code & 0xff);
}

/**
 * Only the owner can read a new database. The files that SQLite creates beside it get the same
 * mode.
 */
function createPrivate(path: string): void {
  if (path !== ":memory:") closeSync(openSync(path, "a", 0o600));
}

/** Derives the inbox from the events, for a database that is older than the inbox. */
export function fillInbox(database: DatabaseSync): void {
  const rows = new InboxRows(database, new RunIndex(database));
  const runs = new Map<string, RunState>();
  const batches = database.prepare(
    "SELECT first_seq, run, first_run_seq, events FROM event_batches ORDER BY first_seq",
  );
  for (const batch of batches.iterate()) {
    const runId = runIdOf(Number(batch["run"]));
    if (runId === controlRunId) continue;
    const run = runs.get(runId) ?? emptyRun(runId);
    runs.set(runId, run);
    for (const event of eventsOf(batch, runId)) writeChange(rows, run, event);
    if (run.outcome !== null) runs.delete(runId);
  }
}

function writeChange(rows: InboxRows, run: RunState, event: StoredEvent): void {
  const before = run.delegations.get(event.sub_agent_id ?? "");
  try {
    applyToRun(run, event);
    if (touchesInbox(event.type)) rows.write(inboxChangeOf(event, run, before));
  } catch {
    // The checker reports a damaged log; it must not prevent opening the database.
  }
}

function eventsOf(batch: Readonly<Record<string, unknown>>, runId: string): readonly StoredEvent[] {
  let stored: [type: string, subAgentId: string | null, at: number, payload: unknown][];
  try {
    stored = JSON.parse(String(batch["events"]));
  } catch {
    return [];
  }
  return stored.map(([type, subAgentId, at, payload], index) => ({
    ...upcast({ type, payload } as NewEvent),
    seq: Number(batch["first_seq"]) + index,
    run_seq: Number(batch["first_run_seq"]) + index,
    run_id: runId,
    ...(subAgentId !== null && { sub_agent_id: subAgentId }),
    at,
    summary: "",
    hash: "",
  })) as unknown as StoredEvent[];
}

/**
 * Reserves numbers from the database in blocks, so that a new id costs no write. A process that
 * ends leaves a gap: ids are unique, not consecutive. Blocks grow with use; the first is reserved
 * with the first id.
 */
export function idBlocks(database: DatabaseSync): () => number {
  let next = 0;
  let end = 0;
  let size = 256;
  return () => {
    if (next === end) {
      size = Math.min(size * 2, 4096);
      const row = database
        .prepare("UPDATE meta SET value = value + ? WHERE key = 'next_id' RETURNING value")
        .get(size);
      end = Number(row?.["value"]);
      // Number zero is the control log.
      next = Math.max(1, end - size);
    }
    return next++;
  };
}
