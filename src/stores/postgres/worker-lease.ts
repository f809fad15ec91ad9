import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { Log } from "../../ports/log.ts";
import type { ExecutorStore, WorkerRow } from "../../ports/workers.ts";
import { type Database, type Row, run, type Statement } from "./database.ts";
import { decodeRow, encodeText } from "./stored-text.ts";
import type { WriteLine } from "./write-line.ts";

/**
 * Which workers are alive, as the database sees it. A worker is a row that expires; heartbeats
 * renew it. Only the clock of the database is used, so a wrong clock on a machine has no effect.
 *
 * An expired row means only that the worker may be declared dead. A survivor does so when it takes
 * over a run: in its transaction, under the lock that all appends hold, it deletes the row if it is
 * still expired. From then on every append of the dead worker is refused as "fenced", for any run,
 * and its id is never used again.
 *
 * Until then the runs have no other owner, so a worker whose database was unavailable for half a
 * minute continues: its next append finds its row under the same lock and renews it. If expiry
 * alone were final, one restart of the database would fence every worker, without any benefit.
 *
 * A process that was declared dead gets a new id, under which it starts and claims runs again.
 */
export class WorkerLease {
  readonly #database: Database;
  readonly #leaseMs: number;
  readonly #log: Log | undefined;
  readonly #ours = new Set<string>();
  #current = "";
  #executor: string | undefined;
  #version: string | undefined;
  #enrolling: Promise<void> | undefined;

  constructor(database: Database, leaseMs: number, log?: Log) {
    this.#database = database;
    this.#leaseMs = leaseMs;
    this.#log = log;
  }

  get worker(): string {
    return this.#current;
  }

  /** All ids that this process has had. */
  get ours(): ReadonlySet<string> {
    return this.#ours;
  }

  /** An SQL expression: the time at which the lease expires if it is renewed now. */
  get expiry(): string {
    return `pg_catalog.clock_timestamp() + interval '${this.#leaseMs} milliseconds'`;
  }

  async enrol(): Promise<void> {
    const worker = randomBytes(12).toString("hex");
    const { quoted } = this.#database.schema;
    // The statement also deletes workers whose runs were never taken over.
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

  /** Names this process in the queues. The name stays when the worker's id changes. */
  async enlist(executor: string, version?: string): Promise<void> {
    this.#executor = executor;
    this.#version = version;
    await this.#name(executor, this.#current);
  }

  async #name(executor: string, worker: string): Promise<void> {
    await this.#database.query({
      text: `INSERT INTO ${this.#database.schema.quoted}.executors (id, worker, host, pid, version) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (id) DO UPDATE SET worker = excluded.worker`,
      values: [encodeText(executor), worker, hostname(), process.pid, this.#version ?? null],
    });
  }

  /** Called when the row of this worker is found to be gone. */
  noticeDeath(worker: string): Promise<void> {
    if (worker !== this.#current) return Promise.resolve();
    this.#enrolling ??= this.#rejoin(worker).finally(() => (this.#enrolling = undefined));
    return this.#enrolling;
  }

  async #rejoin(worker: string): Promise<void> {
    this.#log?.({
      level: "warn",
      code: "lease_lost",
      message: "The lease of this process expired, and another process declared it dead.",
      worker,
    });
    await this.enrol();
    this.#log?.({
      level: "info",
      code: "worker_rejoined",
      message: `This process continues under a new id; the former one was ${worker}.`,
      worker: this.#current,
    });
  }

  /** The heartbeat statement. It returns no row if the worker was declared dead. */
  beat(): string {
    return `UPDATE ${this.#database.schema.quoted}.workers SET expires_at = ${this.expiry} WHERE id = '${this.#current}' RETURNING id`;
  }

  /** All enrolled workers, alive or not, and the schema version. */
  standings(): Statement {
    const { quoted } = this.#database.schema;
    return {
      name: "standings",
      text: `SELECT m.value AS schema, w.id, w.expires_at > pg_catalog.clock_timestamp() AS is_alive
             FROM ${quoted}.meta m LEFT JOIN ${quoted}.workers w ON true WHERE m.key = 'schema'`,
    };
  }

  /**
   * Deletes those of the workers that have expired: a worker that is still enrolled afterwards is
   * alive.
   */
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

  /** On an orderly shutdown: other workers can claim the remaining runs immediately. */
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

/**
 * After an outage of the database every lease has expired; live workers renew theirs within this
 * time.
 */
const graceSeconds = 10;

/** The executors, which take work out of queues, and the workers that they currently are. */
export class ExecutorRows implements ExecutorStore {
  readonly #parts: ExecutorParts;

  constructor(parts: ExecutorParts) {
    this.#parts = parts;
  }

  enlist(executor: string, version?: string): Promise<void> {
    return this.#parts.lease.enlist(executor, version);
  }

  /**
   * Declares the worker dead before forgetting it, as a takeover does, under the lock that all
   * appends hold. If the process is alive after all, it finds its row gone and enrols again with
   * its executor name. Two statements: the second sees whether the first came too late.
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

  /** All workers and executors, alive or not. */
  async workers(): Promise<readonly WorkerRow[]> {
    const { quoted } = this.#parts.database.schema;
    const rows = await this.#parts.database.query({
      name: "workers",
      text: `SELECT coalesce(w.id, e.worker) AS id, e.id AS executor, e.version,
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
    version: row["version"] === null ? null : String(row["version"]),
    host: String(row["host"]),
    pid: Number(row["pid"]),
    startedAt: Number(row["started_at"]),
    isAlive: row["is_alive"] === true,
    aliveUntil: until === null ? null : Number(until),
  };
}
