import type { Pool } from "pg";
import type { EngineConfig } from "../../control/config.ts";
import { type Clock, sleep, systemClock } from "../../ports/clock.ts";
import { isPassing } from "../../ports/database-fault.ts";
import type { DispatchedWork, Dispatcher } from "../../ports/workers.ts";
import { EngineRows } from "./engine-rows.ts";
import { applicationName, applicationVersion, migrateEngine } from "./load-dbos.ts";
import {
  emptyQueue,
  type QueueFigures,
  type QueueOverview,
  queueNameOf,
  queuesOf,
  routeOf,
  workflowIdOf,
} from "./queues.ts";

/** The only workflow: the work itself is described by the delegation's log. */
const workflowName = "delegation";

export interface DispatcherOptions {
  readonly url: string;
  readonly tenant: string;
  /** The schema of the tenant's store, quoted. */
  readonly storeSchema: string;
  readonly config: EngineConfig;
  readonly clock?: Clock;
}

interface Enqueued {
  readonly queue: string;
  readonly id: string;
  readonly work: DispatchedWork;
  readonly priority: number;
}

const mostAtOnce = 500;

/**
 * Calls the SQL function that DBOS provides for programs without its library. An existing row stays
 * as it is, so dispatching work twice enqueues it once.
 */
const enqueueAll = (engineSchema: string) => ({
  name: "enqueue",
  text: `SELECT "${engineSchema}".enqueue_workflow(
    workflow_name => '${workflowName}', queue_name => v.queue, positional_args => ARRAY[v.work],
    workflow_id => v.id, app_version => '${applicationVersion}', priority => v.priority,
    application_name => '${applicationName}')
  FROM pg_catalog.json_to_recordset($1::json) AS v(queue text, id text, work json, priority integer)`,
});

/** One tenant's queues in DBOS: enqueues delegations, where any worker of the tenant can take them. */
export class DbosDispatcher implements Dispatcher {
  /** What is in the queues and at the workers. */
  readonly rows: EngineRows;
  /** Called after this process has enqueued something: its own worker need not wait for its next look. */
  onEnqueued: () => void = () => undefined;
  readonly #pool: Pool;
  readonly #options: DispatcherOptions;
  readonly #clock: Clock;
  #waiting: { readonly item: Enqueued; readonly written: PromiseWithResolvers<void> }[] = [];
  #isWriting = false;
  #isClosed = false;
  #counted: { readonly at: number; readonly overview: Promise<QueueOverview> } | undefined;

  private constructor(pool: Pool, options: DispatcherOptions) {
    const { clock = systemClock, config, storeSchema, tenant } = options;
    this.#pool = pool;
    this.#options = options;
    this.#clock = clock;
    this.rows = new EngineRows(pool, { tenant, storeSchema, engineSchema: config.schema });
    // A connection that breaks while idle is replaced by the next one.
    pool.on("error", () => undefined);
  }

  static async open(options: DispatcherOptions): Promise<DbosDispatcher> {
    const { clock = systemClock, config, url } = options;
    await migrateEngine({ url, schema: config.schema, clock });
    const { default: pg } = await import("pg");
    const pool = new pg.Pool({
      ...{ connectionString: url, max: 2, allowExitOnIdle: true, keepAlive: true },
      ...{ application_name: "mandate queues", connectionTimeoutMillis: 5000 },
      // A connection that does not answer is broken: every statement here is short.
      query_timeout: 30_000,
    });
    return new DbosDispatcher(pool, options);
  }

  /**
   * Retries as long as the database cannot be reached: everything else is in that database as well.
   */
  async dispatch(work: DispatchedWork): Promise<void> {
    const { config, tenant } = this.#options;
    const { priority, queue } = routeOf(config, work);
    const item: Enqueued = {
      ...{ queue: queueNameOf(tenant, queue), id: workflowIdOf(tenant, work), work, priority },
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

  /** Moves what an earlier version sent into the queues of this one. */
  async adoptEarlier(): Promise<void> {
    const { tenant } = this.#options;
    const earlier = await this.rows.adoptEarlier();
    const items = earlier.map(({ queue, ...work }) => ({
      ...{ queue: queueNameOf(tenant, queue), id: workflowIdOf(tenant, work), work, priority: 1 },
    }));
    if (items.length > 0) await this.#write(items);
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
      try {
        await this.#write(together.map(({ item }) => item));
        for (const { written } of together) written.resolve();
      } catch (error) {
        for (const { written } of together) written.reject(error);
      }
    }
    this.#isWriting = false;
  }

  async #write(items: readonly object[]): Promise<void> {
    const values = [JSON.stringify(items)];
    await this.#pool.query({ ...enqueueAll(this.#options.config.schema), values });
    this.onEnqueued();
  }

  /** How full the queues are. Callers within one second share a count. */
  overview(): Promise<QueueOverview> {
    const now = this.#clock.monotonic();
    if (this.#counted === undefined || now - this.#counted.at > 1000) {
      const overview = this.#count();
      overview.catch(() => (this.#counted = undefined));
      this.#counted = { at: now, overview };
    }
    return this.#counted.overview;
  }

  async #count(): Promise<QueueOverview> {
    const { config } = this.#options;
    const figures = new Map(queuesOf(config).map((name) => [name, emptyQueue(config, name)]));
    const taken = new Map<string, number>();
    for (const { count, executor, queue: name, since, status } of await this.rows.count()) {
      const queue: QueueFigures = figures.get(name) ?? emptyQueue(config, name);
      const waitingSince =
        status === "waiting" ? Math.min(queue.waitingSince ?? since, since) : queue.waitingSince;
      figures.set(name, { ...queue, [status]: queue[status] + count, waitingSince });
      if (executor !== null) taken.set(executor, (taken.get(executor) ?? 0) + count);
    }
    return { queues: [...figures.values()], taken };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#pool.end();
  }
}

/** The tenant of an installation that knows no others: no tenant can have this name. */
export const defaultTenant = "-";
