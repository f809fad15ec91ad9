import type { Pool } from "pg";
import {
  configuredName,
  prefixOf,
  type QueuedWork,
  queueNameOf,
  workflowIdOf,
  workOf,
} from "./queues.ts";

export interface EngineRowsPlace {
  readonly tenant: string;
  /** The schema of DBOS's tables. */
  readonly engineSchema: string;
  /** The schema of the tenant's store, quoted. */
  readonly storeSchema: string;
}

export interface TakeRequest {
  readonly queue: string;
  readonly executor: string;
  readonly most: number;
  /** Work that is not taken now: this worker lacks something that it needs. */
  readonly except: readonly QueuedWork[];
  /** Delegations with a place in all workers: of all tenants, and of this one. Absent: no limit. */
  readonly limits: { readonly all?: number | undefined; readonly tenant?: number | undefined };
}

export interface QueueCount {
  readonly queue: string;
  readonly executor: string | null;
  readonly count: number;
  readonly status: "waiting" | "working" | "suspended";
  readonly since: number;
}

/** Under which earlier versions kept the work of a tenant. */
function earlierPrefixOf(tenant: string): string {
  return tenant === "-" ? "default/" : `${tenant}/`;
}

const now = "(EXTRACT(epoch FROM pg_catalog.clock_timestamp()) * 1000)::bigint";

/**
 * One tenant's rows in DBOS's documented table `workflow_status`. ENQUEUED: waits for a worker.
 * PENDING: taken by an executor; `started_at_epoch_ms` is set while it has a place there, and null
 * while it is suspended. A row is deleted when its delegation has closed or was handed in.
 *
 * DBOS's own worker is not used: its limit for one worker is a row that all workers share, and a
 * workflow that waits counts as running (decision 100).
 */
export class EngineRows {
  readonly #pool: Pool;
  readonly #tenant: string;
  readonly #table: string;
  readonly #inputs: string;
  readonly #store: string;

  constructor(pool: Pool, { engineSchema, storeSchema, tenant }: EngineRowsPlace) {
    this.#pool = pool;
    this.#tenant = tenant;
    this.#table = `"${engineSchema}".workflow_status`;
    this.#inputs = `"${engineSchema}".workflow_input`;
    this.#store = storeSchema;
  }

  /**
   * Removes rows of this tenant's work that ended before a time, in milliseconds since 1970: those of
   * earlier versions, which left them. A few hundred at a time, so that no lock is held for long.
   */
  async removeEnded(before: number, most: number): Promise<number> {
    let removed = 0;
    while (removed < most) {
      const { rowCount } = await this.#pool.query({
        text: `DELETE FROM ${this.#table} WHERE workflow_uuid IN (
                 SELECT workflow_uuid FROM ${this.#table}
                 WHERE status NOT IN ('ENQUEUED', 'DELAYED', 'PENDING') AND updated_at < $1
                   AND (pg_catalog.starts_with(workflow_uuid, $2)
                     OR pg_catalog.starts_with(workflow_uuid, $3)) LIMIT $4)`,
        values: [
          ...[Math.trunc(before), `${this.#tenant}/`, earlierPrefixOf(this.#tenant)],
          Math.min(500, most - removed),
        ],
      });
      removed += rowCount ?? 0;
      if ((rowCount ?? 0) === 0) break;
    }
    return removed;
  }

  /** Takes waiting delegations: small priorities first, then the oldest. */
  async take(request: TakeRequest): Promise<readonly QueuedWork[]> {
    const { executor, limits, most, queue } = request;
    const name = queueNameOf(this.#tenant, queue);
    const except = request.except.map((work) => workflowIdOf(this.#tenant, work));
    const take = (most: string) => `
      WITH waiting AS MATERIALIZED (
        SELECT workflow_uuid FROM ${this.#table}
        WHERE status = 'ENQUEUED' AND queue_name = $1 AND NOT workflow_uuid = ANY($4::text[])
        ORDER BY priority, created_at LIMIT ${most} FOR UPDATE SKIP LOCKED)
      UPDATE ${this.#table} AS taken
      SET status = 'PENDING', executor_id = $2, started_at_epoch_ms = ${now}, updated_at = ${now}
      FROM waiting WHERE taken.workflow_uuid = waiting.workflow_uuid
      RETURNING taken.workflow_uuid AS id`;
    const values = [name, executor, most, except];
    if (limits.all === undefined && limits.tenant === undefined) {
      const { rows } = await this.#pool.query<{ id: string }>({
        ...{ name: "take", text: take("$3::bigint"), values },
      });
      return rows.map(({ id }) => workOf(id));
    }
    const left = (limit: string, where: string) => `GREATEST(0, ${limit}::bigint - (
      SELECT count(*) FROM ${this.#table} WHERE status = 'PENDING' AND queue_name ${where}
        AND started_at_epoch_ms IS NOT NULL))`;
    const ofAll = left("$5", "LIKE $7");
    const text = take(`LEAST($3::bigint, ${ofAll}, ${left("$6", "= $1")})`);
    const unlimited = Number.MAX_SAFE_INTEGER;
    const shared = [limits.all ?? unlimited, limits.tenant ?? unlimited, `mandate/%/${queue}`];
    const client = await this.#pool.connect();
    try {
      await client.query("BEGIN ISOLATION LEVEL READ COMMITTED");
      // Workers that take at the same moment must not count the same free places.
      const lock = "SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended($1, 0))";
      await client.query(lock, [`${this.#table} ${queue}`]);
      const { rows } = await client.query<{ id: string }>(text, [...values, ...shared]);
      await client.query("COMMIT");
      return rows.map(({ id }) => workOf(id));
    } catch (error) {
      await client.query("ROLLBACK").catch(() => undefined);
      throw error;
    } finally {
      client.release();
    }
  }

  /** Removes work whose delegations have closed or were submitted. */
  async finish(works: readonly QueuedWork[]): Promise<void> {
    await this.#pool.query({
      name: "finish",
      text: `WITH input AS (DELETE FROM ${this.#inputs} WHERE workflow_uuid = ANY($1::text[]))
             DELETE FROM ${this.#table} WHERE workflow_uuid = ANY($1::text[])`,
      values: [this.#idsOf(works)],
    });
  }

  /** Any worker may take them again. */
  async giveBack(works: readonly QueuedWork[], executor: string): Promise<void> {
    await this.#pool.query(
      `UPDATE ${this.#table} SET ${putBack} WHERE workflow_uuid = ANY($1::text[]) AND executor_id = $2
         AND status = 'PENDING'`,
      [this.#idsOf(works), executor],
    );
  }

  /** False: it was put back while this executor seemed dead. */
  async isHeld(work: QueuedWork, executor: string): Promise<boolean> {
    const { rows } = await this.#pool.query(
      `SELECT 1 FROM ${this.#table} WHERE workflow_uuid = $1 AND executor_id = $2 AND status = 'PENDING'`,
      [workflowIdOf(this.#tenant, work), executor],
    );
    return rows.length > 0;
  }

  /** Stores which delegations gave their place back, and which have one again. */
  async mark(
    executor: string,
    changes: { readonly suspended: readonly QueuedWork[]; readonly working: readonly QueuedWork[] },
  ): Promise<void> {
    await this.#pool.query(
      `UPDATE ${this.#table}
       SET started_at_epoch_ms = CASE WHEN workflow_uuid = ANY($1::text[]) THEN NULL ELSE ${now} END
       WHERE workflow_uuid = ANY($1::text[] || $2::text[]) AND executor_id = $3 AND status = 'PENDING'`,
      [this.#idsOf(changes.suspended), this.#idsOf(changes.working), executor],
    );
  }

  /**
   * Puts back what executors without a live worker had taken. One statement by the clock of the
   * database: several workers may do it at once. Nothing, while the lease of `self` has expired: then
   * the database was away, or this process was stopped.
   */
  async putBackLost(self: string): Promise<readonly QueuedWork[]> {
    const { rows } = await this.#pool.query<{ id: string }>({
      name: "put-back",
      text: `UPDATE ${this.#table} AS lost SET ${putBack}
             WHERE status = 'PENDING' AND queue_name LIKE $1
               AND EXISTS (${this.#liveWorkerOf("$2")}) AND NOT EXISTS (${this.#liveWorkerOf("lost.executor_id")})
             RETURNING workflow_uuid AS id`,
      values: [this.#pattern, self],
    });
    return rows.map(({ id }) => workOf(id));
  }

  async count(): Promise<readonly QueueCount[]> {
    const { rows } = await this.#pool.query<QueueCount>({
      name: "count",
      text: `SELECT queue_name AS queue, executor_id AS executor, count(*)::integer AS count,
               CASE WHEN status = 'ENQUEUED' THEN 'waiting'
                    WHEN started_at_epoch_ms IS NULL THEN 'suspended' ELSE 'working' END AS status,
               min(created_at)::double precision AS since
             FROM ${this.#table} WHERE status IN ('ENQUEUED', 'PENDING') AND queue_name LIKE $1
             GROUP BY 1, 2, 4`,
      values: [this.#pattern],
    });
    return rows.map((row) => ({ ...row, queue: configuredName(this.#tenant, row.queue) }));
  }

  /**
   * Moves what versions before 0.2 sent, to a queue for every depth, into the queues of this version.
   * Their rows that ended stay, for retention.
   */
  async adoptEarlier(): Promise<readonly (QueuedWork & { readonly queue: string })[]> {
    const { rows } = await this.#pool.query<{ queue: string; work: QueuedWork }>(
      `WITH earlier AS (
         DELETE FROM ${this.#table} AS row
         WHERE queue_name ~ '^mandate-.+-[0-9]+$' AND starts_with(workflow_uuid, $1)
           AND (status IN ('ENQUEUED', 'DELAYED')
             OR status = 'PENDING' AND NOT EXISTS (${this.#liveWorkerOf("row.executor_id")}))
         RETURNING workflow_uuid, queue_name),
       input AS (DELETE FROM ${this.#inputs} WHERE workflow_uuid IN (SELECT workflow_uuid FROM earlier)
         RETURNING workflow_uuid, inputs)
       SELECT substring(queue_name FROM '^mandate-(.+)-[0-9]+$') AS queue,
              inputs::json #> '{positionalArgs,0}' AS work
       FROM earlier JOIN input USING (workflow_uuid)`,
      // Rows of an earlier version call a tenant without a name "default".
      [this.#tenant === "-" ? "default/" : `${this.#tenant}/`],
    );
    return rows.map(({ queue, work: { delegationId, runId } }) => ({ queue, delegationId, runId }));
  }

  #liveWorkerOf(executor: string): string {
    return `SELECT 1 FROM ${this.#store}.executors e JOIN ${this.#store}.workers w ON w.id = e.worker
      WHERE e.id = ${executor} AND w.expires_at > pg_catalog.clock_timestamp()`;
  }

  get #pattern(): string {
    // In a LIKE pattern an underscore stands for any character.
    return `${prefixOf(this.#tenant).replaceAll("_", "\\_")}%`;
  }

  #idsOf(works: readonly QueuedWork[]): readonly string[] {
    return works.map((work) => workflowIdOf(this.#tenant, work));
  }
}

const putBack = `status = 'ENQUEUED', executor_id = NULL, started_at_epoch_ms = NULL, updated_at = ${now}`;
