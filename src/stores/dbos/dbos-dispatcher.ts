import type { DBOSClient } from "@dbos-inc/dbos-sdk";
import type { Pool } from "pg";
import type { EngineConfig } from "../../control/config.ts";
import { type Clock, sleep, systemClock } from "../../ports/clock.ts";
import { isPassing } from "../../ports/database-fault.ts";
import type { DispatchedWork, Dispatcher } from "../../ports/workers.ts";
import {
  applicationName,
  applicationVersion,
  engineAddress,
  engineSchema,
  loadDbos,
  migrateEngine,
  quietLogger,
} from "./load-dbos.ts";
import {
  countQueues,
  type QueuedWork,
  type QueueOverview,
  routeOf,
  workflowIdOf,
} from "./queues.ts";

/** The only workflow: the work itself is described by the delegation's log. */
export const workflowName = "delegation";

export interface DispatcherOptions {
  readonly url: string;
  readonly tenant: string;
  readonly config: EngineConfig;
  readonly clock?: Clock;
}

interface Enqueued {
  readonly queue: string;
  readonly id: string;
  readonly work: QueuedWork;
  readonly priority: number;
  readonly partition: string | null;
  readonly delay_ms: number | null;
}

const mostAtOnce = 500;

/**
 * Calls the SQL function that DBOS provides for programs without its library. An existing workflow
 * stays as it is, so dispatching work twice enqueues it once.
 */
const enqueueAll = {
  name: "enqueue",
  text: `SELECT "${engineSchema}".enqueue_workflow(
    workflow_name => '${workflowName}', queue_name => v.queue, positional_args => ARRAY[v.work],
    workflow_id => v.id, app_version => '${applicationVersion}', priority => v.priority,
    queue_partition_key => v.partition, application_name => '${applicationName}',
    delay_until_epoch_ms => (EXTRACT(epoch FROM pg_catalog.now()) * 1000)::bigint + v.delay_ms)
  FROM pg_catalog.json_to_recordset($1::json)
    AS v(queue text, id text, work json, priority integer, partition text, delay_ms bigint)`,
};

/** Enqueues delegations in DBOS, where any worker can take them. */
export class DbosDispatcher implements Dispatcher {
  readonly #client: DBOSClient;
  readonly #pool: Pool;
  readonly #options: DispatcherOptions;
  readonly #clock: Clock;
  #waiting: { readonly item: Enqueued; readonly written: PromiseWithResolvers<void> }[] = [];
  #isWriting = false;
  #isClosed = false;
  #counted: { readonly at: number; readonly overview: Promise<QueueOverview> } | undefined;

  private constructor(client: DBOSClient, pool: Pool, options: DispatcherOptions) {
    this.#client = client;
    this.#pool = pool;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    // A connection that breaks while idle is replaced by the next one.
    pool.on("error", () => undefined);
  }

  static async open(options: DispatcherOptions): Promise<DbosDispatcher> {
    const { DBOSClient } = await loadDbos();
    const { clock = systemClock, url } = options;
    await migrateEngine(url, clock);
    const client = await DBOSClient.create({
      systemDatabaseUrl: engineAddress(url),
      systemDatabaseSchemaName: engineSchema,
      applicationName,
      logger: quietLogger(() => undefined, clock),
    });
    const { default: pg } = await import("pg");
    const pool = new pg.Pool({
      connectionString: url,
      max: 1,
      pipeline: true,
      allowExitOnIdle: true,
    });
    return new DbosDispatcher(client, pool, options);
  }

  /**
   * Retries as long as the database cannot be reached: everything else is in that database as well.
   */
  async dispatch(work: DispatchedWork): Promise<void> {
    const { tenant } = this.#options;
    const again = work.after === undefined ? undefined : `after-${work.after}-`;
    await this.send({ ...work, tenant, sentOn: 0 }, again);
  }

  /** `again`: a name for this time, because the workflow of the previous one has ended. */
  async send(work: QueuedWork, again?: string, delaySeconds?: number): Promise<void> {
    const { isByTenant, priority, queueName } = routeOf(this.#options.config, work);
    const item: Enqueued = {
      ...{ queue: queueName, id: workflowIdOf(work, again), work, priority },
      partition: isByTenant ? work.tenant : null,
      delay_ms: delaySeconds === undefined ? null : delaySeconds * 1000,
    };
    for (let delayMs = 50; !this.#isClosed; delayMs = Math.min(delayMs * 2, 5000)) {
      try {
        return await this.#enqueue(item);
      } catch (error) {
        if (!isPassing(error)) throw error;
        await sleep(this.#clock, delayMs);
      }
    }
  }

  /** Work that is sent in one moment is written in one statement; work sent during a write waits. */
  #enqueue(item: Enqueued): Promise<void> {
    const written = Promise.withResolvers<void>();
    this.#waiting.push({ item, written });
    if (!this.#isWriting) setImmediate(() => void this.#writeAll());
    this.#isWriting = true;
    return written.promise;
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const together = this.#waiting.splice(0, mostAtOnce);
      const values = [JSON.stringify(together.map(({ item }) => item))];
      try {
        await this.#pool.query({ ...enqueueAll, values });
        for (const { written } of together) written.resolve();
      } catch (error) {
        for (const { written } of together) written.reject(error);
      }
    }
    this.#isWriting = false;
  }

  /** How full the queues are. Callers within one second share a count. */
  overview(): Promise<QueueOverview> {
    const now = this.#clock.monotonic();
    if (this.#counted === undefined || now - this.#counted.at > 1000) {
      const { config, tenant } = this.#options;
      const overview = countQueues(this.#client, tenant, config);
      overview.catch(() => (this.#counted = undefined));
      this.#counted = { at: now, overview };
    }
    return this.#counted.overview;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#pool.end();
    await this.#client.destroy();
  }
}
