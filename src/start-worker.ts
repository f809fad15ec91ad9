/** The wiring of a worker: the runtimes of its tenants, and the queues that they share. */

import { type StoredStop, type WatchedStops, watchStops } from "./control/records/stop-records.ts";
import type { Clock } from "./ports/clock.ts";
import { codeOf, isPassing } from "./ports/database-fault.ts";
import type { Log } from "./ports/log.ts";
import { MandateError } from "./ports/mandate-error.ts";
import { messageOf } from "./ports/message-of.ts";
import type { Store } from "./ports/store.ts";
import { productVersion } from "./product-version.ts";
import type { Runtime } from "./runtime.ts";
import { defaultTenant } from "./stores/dbos/dbos-dispatcher.ts";
import { DbosWorker } from "./stores/dbos/dbos-worker.ts";
import { type QueuedWork, queuesOf } from "./stores/dbos/queues.ts";
import type { TenantWork } from "./stores/dbos/tenant-hand.ts";

export interface WorkerStart {
  /** One for each tenant; they share the scheduler of the first, which has the places of this worker. */
  readonly runtimes: readonly Runtime[];
  readonly log: Log;
  /** The queues that the worker serves; absent: all that are configured. */
  readonly queues?: readonly string[] | undefined;
}

export interface RunningWorker {
  readonly running: number;
  /** Whether the worker stops, or was drained for all of its tenants. */
  readonly isDraining: boolean;
  /** The names of the queues, as they are configured. */
  readonly names: readonly string[];
  readonly atOnce: number;
  drain(graceMs: number): Promise<void>;
}

export async function startWorker(start: WorkerStart): Promise<RunningWorker> {
  const [first] = start.runtimes;
  if (first?.config.database.url === undefined) {
    throw new MandateError("config-invalid", "A worker needs Postgres: set MANDATE_DATABASE_URL.");
  }
  // A worker without a model could only claim work and fail it.
  for (const runtime of start.runtimes) runtime.engine.requireModel();
  const { engine } = first.config;
  const configured = queuesOf(engine);
  const unknown = start.queues?.find((name) => !configured.includes(name));
  if (unknown !== undefined) {
    throw new MandateError(
      "usage",
      `There is no queue "${unknown}"; there are ${configured.join(", ")}. Queues are named in \`engine.queues\` of the configuration.`,
    );
  }
  const names = queuesOf(engine, start.queues);
  const { places } = first.engine.worker;
  const executor = first.store.ownership.worker;
  const onFault = faultLog(start.log, first.clock);
  const looking = { again: (): void => undefined };
  const stops = new Map<string, WatchedStops>();
  for (const runtime of start.runtimes) {
    const watched = await watchStops(
      runtime.store,
      (came, went) => {
        logStops(start.log, { came, went, executor, names });
        looking.again();
      },
      onFault,
    );
    stops.set(tenantOf(runtime), watched);
  }
  const isDrained = (tenant: string): boolean =>
    stops.get(tenant)?.has(`worker/${executor}`) === true ||
    stops.get(tenant)?.has(`version/${productVersion}`) === true;
  const worker = await DbosWorker.start({
    tenants: new Map(start.runtimes.map((runtime) => [tenantOf(runtime), workOf(runtime)])),
    queues: names,
    limitsOf(queue) {
      const { concurrency: all, tenantConcurrency: tenant } = engine.queues[queue] ?? {};
      return { all, tenant };
    },
    places,
    onFault,
    mayTake: (tenant, queue) => !isDrained(tenant) && !stops.get(tenant)?.has(`queue/${queue}`),
    version: productVersion,
    clock: first.clock,
  });
  looking.again = () => worker.lookAgain();
  const stopLogging = start.runtimes.map(({ store }) => logClaims(store, start.log));
  let isDraining = false;
  return {
    names,
    atOnce: places.limit,
    get running() {
      return worker.running;
    },
    get isDraining() {
      return isDraining || [...stops.keys()].every(isDrained);
    },
    async drain(graceMs) {
      isDraining = true;
      await worker.drain(graceMs);
      for (const stop of stopLogging) stop();
      for (const watched of stops.values()) watched.close();
    },
  };
}

/** Logs what this worker claims. The first claim of a delegation is its worker's; a later one is a takeover. */
function logClaims(store: Store, log: Log): () => void {
  return store.subscribe((events) => {
    for (const event of events) {
      if (event.type !== "agent.claimed") continue;
      const { fence, worker } = event.payload;
      if (worker !== store.ownership.worker) continue;
      const isFirst = fence <= 1;
      log({
        level: "info",
        code: isFirst ? "delegation_claimed" : "delegation_taken_over",
        message: isFirst
          ? "Claimed a delegation."
          : "Took over a delegation that another worker had claimed.",
        ...{ worker, run: event.run_id, delegation: event.sub_agent_id ?? undefined },
      });
    }
  });
}

const faultPauseMs = 30_000;

/** One line for each kind of fault within half a minute: what fails is tried again many times. */
function faultLog(log: Log, clock: Clock): (error: unknown, work?: QueuedWork) => void {
  const loggedAt = new Map<string, number>();
  return (error, work) => {
    // An outage of the database is reported by the store.
    if (isPassing(error)) return;
    const code = codeOf(error);
    const kind = code ?? messageOf(error).slice(0, 24);
    const now = clock.monotonic();
    if (now - (loggedAt.get(kind) ?? Number.NEGATIVE_INFINITY) < faultPauseMs) return;
    loggedAt.set(kind, now);
    log({
      level: "warn",
      code: work === undefined ? "queue_engine_fault" : "delegation_not_worked_on",
      message: `${messageOf(error)} This is tried again.`,
      ...{ run: work?.runId, delegation: work?.delegationId, error: code },
    });
  };
}

interface StopsOfWorker {
  readonly came: readonly StoredStop[];
  readonly went: readonly StoredStop[];
  readonly executor: string;
  readonly names: readonly string[];
}

function logStops(log: Log, { came, executor, names, went }: StopsOfWorker): void {
  const isOwn = (scope: string): boolean =>
    scope === `worker/${executor}` || scope === `version/${productVersion}`;
  for (const [stops, isStopped] of [
    [came, true],
    [went, false],
  ] as const) {
    for (const { scope, setBy } of stops) {
      const [kind = "", name = ""] = scope.split("/");
      if (isOwn(scope)) {
        const code = isStopped ? "worker_drained" : "worker_undrained";
        const message = isStopped
          ? `Drained by ${setBy}: no new work is claimed until it is resumed.`
          : "Resumed: new work is claimed again.";
        log({ level: "info", code, message, worker: executor });
      } else if (kind === "queue" && names.includes(name)) {
        const code = isStopped ? "queue_paused" : "queue_resumed";
        const message = isStopped ? `The queue was paused by ${setBy}.` : "The queue was resumed.";
        log({ level: "info", code, message, worker: executor, queue: name });
      }
    }
  }
}

function tenantOf({ config }: Runtime): string {
  return config.database.tenant ?? defaultTenant;
}

function workOf({ engine, queues, store }: Runtime): TenantWork {
  if (queues === null) throw new MandateError("config-invalid", "A worker needs queues.");
  return { store, worker: engine.worker, dispatcher: queues };
}
