import type { DBOSClient } from "@dbos-inc/dbos-sdk";
import type { EngineConfig } from "../../control/config.ts";
import { type Clock, sleep, systemClock } from "../../ports/clock.ts";
import { isPassing } from "../../ports/database-fault.ts";
import type { DispatchedWork, Dispatcher } from "../../ports/dispatcher.ts";
import { countQueues } from "./count-queues.ts";
import { EnqueueLine } from "./enqueue-line.ts";
import {
  applicationName,
  engineAddress,
  engineSchema,
  loadDbos,
  quietLogger,
} from "./load-dbos.ts";
import { migrateEngine } from "./migrate-engine.ts";
import type { QueueOverview } from "./queue-overview.ts";
import { routeOf } from "./queues.ts";
import { workflowIdOf } from "./workflow-id.ts";

/** The one workflow there is: what it does is in the delegation's log. */
export const workflowName = "delegation";

/** What a worker is told: where to find the delegation, and everything else is there. */
export interface QueuedWork extends DispatchedWork {
  readonly tenant: string;
  /** How often it was sent on because a worker could not take it. */
  readonly sentOn: number;
}

export interface DispatcherOptions {
  readonly url: string;
  readonly tenant: string;
  readonly config: EngineConfig;
  readonly clock?: Clock;
}

/** Puts delegations into the queues of DBOS, from where any worker takes them. */
export class DbosDispatcher implements Dispatcher {
  readonly #client: DBOSClient;
  readonly #line: EnqueueLine;
  readonly #options: DispatcherOptions;
  readonly #clock: Clock;
  #isClosed = false;
  #counted: { readonly at: number; readonly overview: Promise<QueueOverview> } | undefined;

  private constructor(client: DBOSClient, line: EnqueueLine, options: DispatcherOptions) {
    this.#client = client;
    this.#line = line;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  static async open(options: DispatcherOptions): Promise<DbosDispatcher> {
    const { DBOSClient } = await loadDbos();
    const { clock = systemClock } = options;
    await migrateEngine(options.url, clock);
    const client = await DBOSClient.create({
      systemDatabaseUrl: engineAddress(options.url),
      systemDatabaseSchemaName: engineSchema,
      applicationName,
      logger: quietLogger(() => undefined, clock),
    });
    const { default: pg } = await import("pg");
    const pool = new pg.Pool({
      connectionString: options.url,
      max: 1,
      pipeline: true,
      allowExitOnIdle: true,
    });
    return new DbosDispatcher(client, new EnqueueLine(pool), options);
  }

  /** As long as it takes: the database that cannot be reached is the one that everything is in. */
  async dispatch(work: DispatchedWork): Promise<void> {
    const { tenant } = this.#options;
    const again = work.after === undefined ? undefined : `after-${work.after}-`;
    await this.send({ ...work, tenant, sentOn: 0 }, again);
  }

  /** `again`: what it is called this time, since what was called so before has ended. */
  async send(work: QueuedWork, again?: string, delaySeconds?: number): Promise<void> {
    const { isByTenant, priority, queueName } = routeOf(this.#options.config, work);
    for (let delayMs = 50; !this.#isClosed; delayMs = Math.min(delayMs * 2, 5000)) {
      try {
        await this.#line.add({
          workflowName,
          workflowId: workflowIdOf(work, again),
          queueName,
          priority,
          partitionKey: isByTenant ? work.tenant : null,
          delaySeconds: delaySeconds ?? null,
          work,
        });
        return;
      } catch (error) {
        if (!isPassing(error)) throw error;
        await sleep(this.#clock, delayMs);
      }
    }
  }

  /** How full the queues are. Many may ask at once, and it is counted once for all of them. */
  overview(): Promise<QueueOverview> {
    const now = this.#clock.monotonic();
    if (this.#counted === undefined || now - this.#counted.at > countedForMs) {
      const { config, tenant } = this.#options;
      const overview = countQueues(this.#client, tenant, config);
      overview.catch(() => (this.#counted = undefined));
      this.#counted = { at: now, overview };
    }
    return this.#counted.overview;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#line.close();
    await this.#client.destroy();
  }
}

const countedForMs = 1000;
