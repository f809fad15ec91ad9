import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { ExecutorStore, WorkerRow } from "../../ports/workers.ts";
import { type Database, type Row, run, type Statement } from "./database.ts";
import { decodeRow, encodeText } from "./stored-text.ts";
import type { WriteLine } from "./write-line.ts";

/**
 * Who lives, as the database sees it. A worker is a row that expires; it beats to put that off, and
 * only the database's clock is ever looked at, so a machine whose clock is wrong is neither dead nor
 * immortal.
 *
 * That a row has expired makes its worker one that may be declared dead, and nothing more. It is
 * declared dead by a survivor that takes over one of its runs: under the lock that all appends hold,
 * and in the same transaction, the survivor deletes the row, if it is still expired then. From there
 * on every append of that worker is refused as "fenced", whichever run it is about, and its id never
 * comes back. As long as no worker did that the runs have no other owner, so a worker whose database
 * was away for half a minute continues its work: its next append finds its row under the same
 * lock and renews it there. Were expiry alone final, one restart of the database would fence every
 * worker, without any gain.
 *
 * A process that was declared dead takes a new id, under which it starts and claims runs again.
 */
export class WorkerLease {
  readonly #database: Database;
  readonly #leaseMs: number;
  readonly #ours = new Set<string>();
  #current = "";
  #executor: string | undefined;
  #enrolling: Promise<void> | undefined;

  constructor(database: Database, leaseMs: number) {
    this.#database = database;
    this.#leaseMs = leaseMs;
  }

  get worker(): string {
    return this.#current;
  }

  /** All names that this process has had. */
  get ours(): ReadonlySet<string> {
    return this.#ours;
  }

  /** A moment from now, in the database's time, as an expression. */
  get expiry(): string {
    return `pg_catalog.clock_timestamp() + interval '${this.#leaseMs} milliseconds'`;
  }

  async enrol(): Promise<void> {
    const worker = randomBytes(12).toString("hex");
    const { quoted } = this.#database.schema;
    // Rows of workers whose runs were never taken over would stay without end.
    await this.#database.query({
      text: `WITH gone AS (DELETE FROM ${quoted}.workers WHERE expires_at < pg_catalog.clock_timestamp() - interval '1 hour')
             INSERT INTO ${quoted}.workers (id, expires_at, host, pid) VALUES ($1, ${this.expiry}, $2, $3)
             ON CONFLICT (id) DO NOTHING`,
      values: [worker, hostname(), process.pid],
    });
    if (this.#executor !== undefined) await this.#name(this.#executor, worker);
    this.#ours.add(worker);
    this.#current = worker;
  }

  /** The name by which queues know this process; it stays when the worker's id becomes another. */
  async enlist(executor: string): Promise<void> {
    this.#executor = executor;
    await this.#name(executor, this.#current);
  }

  async #name(executor: string, worker: string): Promise<void> {
    await this.#database.query({
      text: `INSERT INTO ${this.#database.schema.quoted}.executors (id, worker, host, pid) VALUES ($1, $2, $3, $4)
             ON CONFLICT (id) DO UPDATE SET worker = excluded.worker`,
      values: [encodeText(executor), worker, hostname(), process.pid],
    });
  }

  /** Called when our row is found to be gone. */
  noticeDeath(worker: string): Promise<void> {
    if (worker !== this.#current) return Promise.resolve();
    this.#enrolling ??= this.enrol().finally(() => (this.#enrolling = undefined));
    return this.#enrolling;
  }

  /** The statement of a beat; it gives no row when the worker was declared dead. */
  beat(): string {
    return `UPDATE ${this.#database.schema.quoted}.workers SET expires_at = ${this.expiry} WHERE id = '${this.#current}' RETURNING id`;
  }

  /** Everybody who is enrolled, alive or not, and the schema that is worked on. */
  standings(): Statement {
    const { quoted } = this.#database.schema;
    return {
      name: "standings",
      text: `SELECT m.value AS schema, w.id, w.expires_at > pg_catalog.clock_timestamp() AS is_alive
             FROM ${quoted}.meta m LEFT JOIN ${quoted}.workers w ON true WHERE m.key = 'schema'`,
    };
  }

  /** Deletes those of them who have expired: who is still enrolled afterwards lives. */
  declareDead(workers: readonly string[]): Statement {
    return {
      text: `DELETE FROM ${this.#database.schema.quoted}.workers WHERE id = ANY($1) AND expires_at <= pg_catalog.clock_timestamp()`,
      values: [workers.map(encodeText)],
    };
  }

  async isAlive(worker: string): Promise<boolean> {
    const rows = await this.#database.query({
      name: "is-alive",
      text: `SELECT 1 FROM ${this.#database.schema.quoted}.workers WHERE id = $1 AND expires_at > pg_catalog.clock_timestamp()`,
      values: [encodeText(worker)],
    });
    return rows.length > 0;
  }

  /** An orderly end: what is left of our runs is anybody's at once. */
  async dismiss(): Promise<void> {
    await this.#database.query({
      text: `DELETE FROM ${this.#database.schema.quoted}.workers WHERE id = $1`,
      values: [this.#current],
    });
  }
}

export interface ExecutorParts {
  readonly database: Database;
  readonly lease: WorkerLease;
  readonly line: WriteLine;
}

/** A database that was away has let every lease run out: those who live say so within this time. */
const graceSeconds = 10;

/** Who takes work out of queues, and under which lease. */
export class ExecutorRows implements ExecutorStore {
  readonly #parts: ExecutorParts;

  constructor(parts: ExecutorParts) {
    this.#parts = parts;
  }

  enlist(executor: string): Promise<void> {
    return this.#parts.lease.enlist(executor);
  }

  /**
   * As a takeover does, it declares the worker dead before it forgets it, under the lock that all
   * appends hold: should that process live after all, it finds its row gone and enrols again, and
   * its name with it. In two statements: the second one sees whether the first one was too late.
   */
  async forget(executor: string): Promise<void> {
    const { database, line } = this.#parts;
    const { lock, quoted } = database.schema;
    const values = [encodeText(executor)];
    await line.run(async (client) => {
      await client.query("BEGIN ISOLATION LEVEL READ COMMITTED");
      await client.query(`SELECT pg_catalog.pg_advisory_xact_lock(${lock})`);
      await run(client, {
        text: `DELETE FROM ${quoted}.workers w USING ${quoted}.executors e WHERE e.id = $1 AND w.id = e.worker
                 AND w.expires_at <= pg_catalog.clock_timestamp() - interval '${graceSeconds} seconds'`,
        values,
      });
      await run(client, {
        text: `DELETE FROM ${quoted}.executors e WHERE e.id = $1
                 AND NOT EXISTS (SELECT 1 FROM ${quoted}.workers w WHERE w.id = e.worker)`,
        values,
      });
      await client.query("COMMIT");
    });
  }

  /** All that are enrolled or enlisted, alive or not. */
  async workers(): Promise<readonly WorkerRow[]> {
    const { quoted } = this.#parts.database.schema;
    const rows = await this.#parts.database.query({
      name: "workers",
      text: `SELECT coalesce(w.id, e.worker) AS id, e.id AS executor,
               coalesce(w.host, e.host) AS host, coalesce(w.pid, e.pid) AS pid,
               (extract(epoch FROM coalesce(e.enlisted_at, w.enrolled_at)) * 1000)::bigint AS started_at,
               (extract(epoch FROM w.expires_at) * 1000)::bigint AS alive_until,
               coalesce(w.expires_at > pg_catalog.clock_timestamp(), false) AS is_alive
             FROM ${quoted}.workers w FULL JOIN ${quoted}.executors e ON e.worker = w.id
             ORDER BY started_at, id`,
    });
    return rows.map((row) => workerRowOf(decodeRow(row)));
  }
}

function workerRowOf(row: Row): WorkerRow {
  const { executor, alive_until: until } = row as { executor: unknown; alive_until: unknown };
  return {
    id: String(row["id"]),
    executor: executor === null ? null : String(executor),
    host: String(row["host"]),
    pid: Number(row["pid"]),
    startedAt: Number(row["started_at"]),
    isAlive: row["is_alive"] === true,
    aliveUntil: until === null ? null : Number(until),
  };
}
