import type { ExecutorStore, WorkerRow } from "../../ports/workers.ts";
import { type Database, type Row, run } from "./database.ts";
import { decodeRow, encodeText } from "./stored-text.ts";
import type { WorkerLease } from "./worker-lease.ts";
import type { WriteLine } from "./write-line.ts";

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
