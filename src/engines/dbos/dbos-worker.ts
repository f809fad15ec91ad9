import type { EngineConfig } from "../../control/config.ts";
import { type Clock, sleep, systemClock } from "../../ports/clock.ts";
import { messageOf } from "../../ports/message-of.ts";
import type { Store } from "../../ports/store.ts";
import { type DbosDispatcher, type QueuedWork, workflowName } from "./dbos-dispatcher.ts";
import {
  applicationName,
  applicationVersion,
  engineAddress,
  engineSchema,
  loadDbos,
  quietLogger,
} from "./load-dbos.ts";
import { queuesOf } from "./queues.ts";
import { type TakenWork, takeOverLost } from "./take-over-lost.ts";

/** What a worker can do for one tenant. */
export interface TenantWork {
  readonly store: Store;
  readonly dispatcher: DbosDispatcher;
  readonly engine: {
    workOn(
      runId: string,
      delegationId: string,
      isLastResort: boolean,
    ): Promise<"done" | "busy" | "unfit">;
    sendLost(): Promise<void>;
  };
}

export interface WorkerOptions {
  readonly url: string;
  readonly config: EngineConfig;
  /** By name; the first one's lease gives the worker its name, in the queues and at all of them. */
  readonly tenants: ReadonlyMap<string, TenantWork>;
  readonly depths: number;
  /** Delegations at work at the same time, at each depth. */
  readonly atOnce: number;
  readonly queues?: readonly string[];
  readonly log: (line: string) => void;
  readonly clock?: Clock;
}

export interface DbosWorker {
  readonly running: number;
  /** The names of the queues that it takes work from. */
  readonly queues: readonly string[];
  /** Takes nothing more, and gives what it has so long to end; the rest goes to other workers. */
  drain(graceMs: number): Promise<void>;
}

/** Takes delegations out of the queues and has them worked on, as many at a time as it may. */
export async function startDbosWorker(options: WorkerOptions): Promise<DbosWorker> {
  const { clock = systemClock, log, tenants } = options;
  const { DBOS } = await loadDbos();
  const [first] = tenants.values();
  if (first === undefined) throw new Error("a worker needs a tenant");
  const executorID = first.store.ownership.worker;
  const queues = queuesOf(options.config, options.depths, options.atOnce, options.queues);
  const underWay = new Set<Promise<void>>();
  let isDraining = false;
  // Before anything is taken: what nobody knows of counts as lost.
  for (const { store } of tenants.values()) await store.executors?.enlist(executorID);
  DBOS.registerWorkflow(
    async (work: QueuedWork) => {
      const done = workOn(work, tenants, { log, clock, isDraining: () => isDraining });
      underWay.add(done);
      await done.finally(() => underWay.delete(done));
    },
    // As plain as it can be read: what is queued is a few words.
    { name: workflowName, serialization: "portable" },
  );
  DBOS.setConfig({
    name: applicationName,
    systemDatabaseUrl: engineAddress(options.url),
    systemDatabaseSchemaName: engineSchema,
    // Whoever opened the dispatcher has: by way of a lock, which the engine does not take.
    runMigrations: false,
    applicationVersion,
    executorID,
    listenQueues: queues.map(({ name }) => name),
    logger: quietLogger(log, clock),
  });
  await DBOS.launch();
  for (const { name, ...parameters } of queues) {
    await DBOS.registerQueue(name, { ...parameters, onConflict: "always_update" });
  }
  const stopLooking = lookAfterOthers(options, DBOS, executorID, clock);
  return {
    get running() {
      return underWay.size;
    },
    queues: queues.map(({ name }) => name),
    async drain(graceMs) {
      isDraining = true;
      stopLooking();
      // What has not ended by then stays as it is in the queue, for whoever finds this worker gone.
      await DBOS.shutdown({ deregister: true, workflowCompletionTimeoutMS: graceMs });
    },
  };
}

interface WorkerState {
  readonly log: WorkerOptions["log"];
  readonly clock: Clock;
  readonly isDraining: () => boolean;
}

/** Until it has ended, or is its caller's, or another worker's to go on with. */
async function workOn(
  work: QueuedWork,
  tenants: WorkerOptions["tenants"],
  { clock, isDraining, log }: WorkerState,
): Promise<void> {
  const tenant = tenants.get(work.tenant);
  const { delegationId, runId, sentOn } = work;
  if (tenant === undefined) {
    const [any] = tenants.values();
    return any?.dispatcher.send({ ...work, sentOn: sentOn + 1 }, undefined, pause(sentOn));
  }
  let failures = 0;
  for (;;) {
    const before = failures;
    // A workflow that fails has ended, and its delegation has not: what went wrong here (the database
    // was away, say) is tried again for as long as nobody else has it.
    const outcome = await tenant.engine
      .workOn(runId, delegationId, sentOn >= mostSentOn)
      .catch((error: unknown) => {
        if (failures++ === 0) log(`${delegationId} of ${runId}: ${messageOf(error)}`);
        return "busy" as const;
      });
    if (outcome === "done") return;
    if (failures === before) failures = 0;
    // Another worker goes on with it; here it must not seem to have ended.
    if (isDraining()) return new Promise(() => undefined);
    if (outcome === "unfit") {
      return tenant.dispatcher.send({ ...work, sentOn: sentOn + 1 }, undefined, pause(sentOn));
    }
    // Whoever has it lives, or its lease is not over yet. What fails each time is tried seldom.
    await sleep(clock, Math.min(busyMs * 2 ** failures, longestBusyMs));
  }
}

const busyMs = 250;
const longestBusyMs = 30_000;

/** Then some three minutes have passed in which nobody could take it. */
const mostSentOn = 10;

/** Seconds; longer each time, since nobody may be there who can take it. */
function pause(sentOn: number): number {
  return Math.min(2 ** sentOn, 30);
}

/** Every worker looks for what lost workers left, and what nobody was told of. */
function lookAfterOthers(
  { log, tenants }: WorkerOptions,
  engine: TakenWork,
  self: string,
  clock: Clock,
): () => void {
  let isLooking = false;
  let looks = 0;
  const look = async (): Promise<void> => {
    const isThorough = looks++ % orphanEvery === 0;
    for (const [tenant, { engine: own, store }] of tenants) {
      await takeOverLost({ engine, tenant, self, store, clock, isThorough });
      // What was made in the moment before somebody died is in no queue.
      if (isThorough) await own.sendLost();
    }
  };
  const lookOnce = (): void => {
    if (isLooking) return;
    isLooking = true;
    void look()
      .catch((error: unknown) => log(error instanceof Error ? error.message : String(error)))
      .finally(() => {
        isLooking = false;
      });
  };
  const timer = clock.every(lookMs, lookOnce).unref();
  return () => timer.cancel();
}

const lookMs = 1000;
const orphanEvery = 30;
