import type { DBOSClient } from "@dbos-inc/dbos-sdk";
import type { EngineConfig } from "../../control/config.ts";
import type { DispatchedWork, Dispatcher } from "../../ports/dispatcher.ts";
import {
  applicationName,
  applicationVersion,
  engineSchema,
  loadDbos,
  migrateEngine,
  quietLogger,
} from "./load-dbos.ts";
import { routeOf } from "./queues.ts";

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
}

/** Puts delegations into the queues of DBOS, from where any worker takes them. */
export class DbosDispatcher implements Dispatcher {
  readonly #client: DBOSClient;
  readonly #options: DispatcherOptions;
  #isClosed = false;

  private constructor(client: DBOSClient, options: DispatcherOptions) {
    this.#client = client;
    this.#options = options;
  }

  static async open(options: DispatcherOptions): Promise<DbosDispatcher> {
    const { DBOSClient } = await loadDbos();
    await migrateEngine(options.url);
    const client = await DBOSClient.create({
      systemDatabaseUrl: options.url,
      systemDatabaseSchemaName: engineSchema,
      applicationName,
      logger: quietLogger(() => undefined),
    });
    return new DbosDispatcher(client, options);
  }

  /** As long as it takes: the database that cannot be reached is the one that everything is in. */
  async dispatch(work: DispatchedWork): Promise<void> {
    const { tenant } = this.#options;
    await this.send({ ...work, tenant, sentOn: 0 });
  }

  /** `again`: what it is called this time, since what was called so before has ended. */
  async send(work: QueuedWork, again?: string, delaySeconds?: number): Promise<void> {
    const { isByTenant, priority, queueName } = routeOf(this.#options.config, work);
    for (let delayMs = 50; !this.#isClosed; delayMs = Math.min(delayMs * 2, 5000)) {
      try {
        await this.#client.enqueue(
          {
            queueName,
            workflowName,
            workflowID: workflowIdOf(work, again),
            appVersion: applicationVersion,
            priority,
            ...(isByTenant && { queuePartitionKey: work.tenant }),
            ...(delaySeconds !== undefined && { delaySeconds }),
          },
          work,
        );
        return;
      } catch (error) {
        if (!isPassing(error)) throw error;
        await new Promise((resolve) => setTimeout(resolve, delayMs));
      }
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#client.destroy();
  }
}

/** The same for the same delegation: to send it twice is to send it once. */
function workflowIdOf({ delegationId, sentOn, tenant }: QueuedWork, again = ""): string {
  const name = `${tenant}/${delegationId}`;
  return sentOn === 0 && again === "" ? name : `${name}/${again}${sentOn}`;
}

/** The connection, not the request, is what failed. */
function isPassing(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== "string") return /connection|timeout|terminated/i.test(String(error));
  // Connection exceptions, shutdown and start of the server, too many connections, and sockets.
  return /^(08|57P0|53)/.test(code) || /^E[A-Z]+$/.test(code);
}
