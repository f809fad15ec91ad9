/** The wiring of a worker: the runtimes of its tenants, and the queues that they share. */

import { MandateError } from "./ports/mandate-error.ts";
import type { Runtime } from "./runtime.ts";
import { type DbosWorker, startDbosWorker, type TenantWork } from "./stores/dbos/dbos-worker.ts";

export interface WorkerStart {
  /** One for each tenant. */
  readonly runtimes: readonly Runtime[];
  readonly log: (line: string) => void;
  /** Delegations at work at the same time; absent: as configured. */
  readonly atOnce?: number | undefined;
  /** Absent: all that are configured. */
  readonly queues?: readonly string[] | undefined;
}

export interface RunningWorker {
  readonly running: number;
  readonly isDraining: boolean;
  /** Of the queues, as they are configured. */
  readonly names: readonly string[];
  drain(graceMs: number): Promise<void>;
}

export async function startWorker(start: WorkerStart): Promise<RunningWorker> {
  const [first] = start.runtimes;
  const url = first?.config.database.url;
  if (first === undefined || url === undefined) {
    throw new MandateError("config-invalid", "A worker needs Postgres: set MANDATE_DATABASE_URL.");
  }
  // A worker without a model could only claim work and fail it.
  for (const runtime of start.runtimes) runtime.engine.requireModel();
  const { agents, engine } = first.config;
  const configured = [
    "default",
    ...Object.keys(engine.queues).filter((name) => name !== "default"),
  ];
  const unknown = start.queues?.find((name) => !configured.includes(name));
  if (unknown !== undefined) {
    throw new MandateError(
      "usage",
      `There is no queue "${unknown}"; there are ${configured.join(", ")}. Queues are named in \`engine.queues\` of the configuration.`,
    );
  }
  const tenants = new Map(start.runtimes.map((runtime) => [tenantOf(runtime), workOf(runtime)]));
  const worker: DbosWorker = await startDbosWorker({
    ...{ url, tenants, config: engine, log: start.log, clock: first.clock },
    depths: agents.delegation.maxDepth,
    atOnce: start.atOnce ?? agents.delegation.maxConcurrent,
    ...(start.queues && { queues: start.queues }),
  });
  let isDraining = false;
  return {
    names: start.queues ?? configured,
    get running() {
      return worker.running;
    },
    get isDraining() {
      return isDraining;
    },
    drain(graceMs) {
      isDraining = true;
      return worker.drain(graceMs);
    },
  };
}

function tenantOf({ config }: Runtime): string {
  return config.database.tenant ?? "default";
}

function workOf({ engine, queues, store }: Runtime): TenantWork {
  if (queues === null) throw new MandateError("config-invalid", "A worker needs queues.");
  return { store, worker: engine.worker, dispatcher: queues };
}
