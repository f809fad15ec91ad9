import type { EngineConfig } from "../../control/config.ts";
import { type Clock, sleep, systemClock } from "../../ports/clock.ts";
import { messageOf } from "../../ports/message-of.ts";
import type { Store } from "../../ports/store.ts";
import { type DbosDispatcher, workflowName } from "./dbos-dispatcher.ts";
import {
  applicationName,
  applicationVersion,
  engineAddress,
  engineSchema,
  loadDbos,
  quietLogger,
} from "./load-dbos.ts";
import { type QueuedWork, queuesOf } from "./queues.ts";
import { type TakenWork, takeOverLost } from "./take-over-lost.ts";

/** What a worker has for one tenant. */
export interface TenantWork {
  readonly store: Store;
  readonly dispatcher: DbosDispatcher;
  readonly worker: {
    workOn(
      runId: string,
      delegationId: string,
      isLastResort: boolean,
    ): Promise<"done" | "busy" | "unfit">;
    reenqueueOrphans(): Promise<void>;
  };
}

export interface WorkerOptions {
  readonly url: string;
  readonly config: EngineConfig;
  /** By name. The first one's worker id is the name of this worker in the queues of all of them. */
  readonly tenants: ReadonlyMap<string, TenantWork>;
  readonly depths: number;
  /** The most delegations in progress at each depth. */
  readonly atOnce: number;
  readonly queues?: readonly string[];
  readonly log: (line: string) => void;
  readonly clock?: Clock;
}

export interface DbosWorker {
  readonly running: number;
  /** Takes no more work, and gives work in progress this long to end; the rest is for other workers. */
  drain(graceMs: number): Promise<void>;
}

/** Takes delegations out of the queues and works on them, at most `atOnce` at each depth. */
export async function startDbosWorker(options: WorkerOptions): Promise<DbosWorker> {
  const { clock = systemClock, log, tenants } = options;
  const { DBOS } = await loadDbos();
  const [first] = tenants.values();
  if (first === undefined) throw new Error("a worker needs a tenant");
  const executorID = first.store.ownership.worker;
  const queues = queuesOf(options.config, options.depths, options.atOnce, options.queues);
  let running = 0;
  let isDraining = false;
  // Before it takes any work: the work of an unknown executor counts as lost.
  for (const { store } of tenants.values()) await store.executors?.enlist(executorID);
  DBOS.registerWorkflow(
    async (work: QueuedWork) => {
      running++;
      const state = { log, clock, isDraining: () => isDraining };
      await workOn(work, tenants, state).finally(() => running--);
    },
    // Readable without DBOS, and small.
    { name: workflowName, serialization: "portable" },
  );
  DBOS.setConfig({
    name: applicationName,
    systemDatabaseUrl: engineAddress(options.url),
    systemDatabaseSchemaName: engineSchema,
    // The dispatcher has migrated, under a lock that DBOS does not take.
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
  const looking = lookForLost(options, DBOS, executorID, clock);
  return {
    get running() {
      return running;
    },
    async drain(graceMs) {
      isDraining = true;
      looking.cancel();
      // Work that has not ended by then stays in the queue, for workers that find this one dead.
      await DBOS.shutdown({ deregister: true, workflowCompletionTimeoutMS: graceMs });
    },
  };
}

interface WorkerState {
  readonly log: WorkerOptions["log"];
  readonly clock: Clock;
  readonly isDraining: () => boolean;
}

const busyMs = 250;
const longestBusyMs = 30_000;
/** About three minutes in which no worker could take it. */
const mostSentOn = 10;

/** Until the delegation has ended, or is handed to its caller or to another worker. */
async function workOn(
  work: QueuedWork,
  tenants: WorkerOptions["tenants"],
  { clock, isDraining, log }: WorkerState,
): Promise<void> {
  const { delegationId, runId, sentOn, tenant: name } = work;
  const tenant = tenants.get(name);
  const sendOn = (by: TenantWork | undefined): Promise<void> | undefined =>
    // Longer each time: perhaps no worker that could take it is running.
    by?.dispatcher.send({ ...work, sentOn: sentOn + 1 }, undefined, Math.min(2 ** sentOn, 30));
  if (tenant === undefined) return sendOn(tenants.values().next().value);
  let failures = 0;
  for (;;) {
    const before = failures;
    // A workflow that throws has ended, but its delegation has not: a failure of this process, such
    // as an unreachable database, is retried until another worker has the delegation.
    const outcome = await tenant.worker
      .workOn(runId, delegationId, sentOn >= mostSentOn)
      .catch((error: unknown) => {
        if (failures++ === 0) log(`${delegationId} of ${runId}: ${messageOf(error)}`);
        return "busy" as const;
      });
    if (outcome === "done") return;
    if (failures === before) failures = 0;
    // Another worker continues the delegation, so its workflow must not seem to have ended here.
    if (isDraining()) return new Promise(() => undefined);
    if (outcome === "unfit") return sendOn(tenant);
    // Its worker is alive, or that worker's lease has not expired yet.
    await sleep(clock, Math.min(busyMs * 2 ** failures, longestBusyMs));
  }
}

const lookMs = 1000;
/** Every 30th look also searches for delegations that are in no queue. */
const orphanEvery = 30;

/** Every worker looks for the work of dead workers, and for work that was never sent. */
function lookForLost(
  { log, tenants }: WorkerOptions,
  engine: TakenWork,
  self: string,
  clock: Clock,
): { cancel(): void } {
  let isLooking = false;
  let looks = 0;
  const look = async (): Promise<void> => {
    if (isLooking) return;
    isLooking = true;
    const isThorough = looks++ % orphanEvery === 0;
    try {
      for (const [tenant, { store, worker }] of tenants) {
        await takeOverLost({ engine, tenant, self, store, clock, isThorough });
        // A process that died between creating and sending a delegation left it in no queue.
        if (isThorough) await worker.reenqueueOrphans();
      }
    } catch (error) {
      log(messageOf(error));
    } finally {
      isLooking = false;
    }
  };
  return clock.every(lookMs, () => void look()).unref();
}
