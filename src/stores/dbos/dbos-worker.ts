/**
 * Distributed runs on DBOS: delegations wait in its queues, and this worker takes them out. May
 * import ports and events, and types of contracts and control.
 */
import type { DBOSClient } from "@dbos-inc/dbos-sdk";
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
import { isOfTenant, prefixOf, type QueuedWork, queuesOf } from "./queues.ts";

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

/** The part of DBOS that this needs: workers and clients have it. */
export type TakenWork = Pick<DBOSClient, "listWorkflows" | "resumeWorkflows">;

export interface TakeOver {
  readonly engine: TakenWork;
  readonly tenant: string;
  /** The executor that looks. It is alive, even if its lease expired while it was stopped. */
  readonly self: string;
  readonly store: Pick<Store, "workers" | "executors">;
  readonly clock: Clock;
  /**
   * Also looks at everything that is taken, for unknown executors: of a version that did not enlist,
   * or whose tables were restored.
   */
  readonly isThorough?: boolean;
}

const pageSize = 500;
/** Together more than a fleet has in progress; the next look continues. */
const mostPages = 200;
/** A database that answers so late was unreachable, and every lease has expired. */
const lateMs = 2000;

/**
 * Puts the work that dead workers of one tenant had taken back into its queues, and forgets
 * executors that have no work left. Several workers may do so at once: the first to claim a
 * delegation works on it. Returns the number of delegations.
 */
export async function takeOverLost(look: TakeOver): Promise<number> {
  const { clock, self, store } = look;
  const askedAt = clock.monotonic();
  const workers = (await store.workers?.()) ?? [];
  // Live workers renew their leases in a moment: none counts as dead until it could.
  if (clock.monotonic() - askedAt > lateMs) return 0;
  const living = new Set([self]);
  for (const { executor, isAlive } of workers) if (executor && isAlive) living.add(executor);
  const dead = new Set<string>();
  for (const { executor } of workers) if (executor && !living.has(executor)) dead.add(executor);
  const lost = new Set(dead);
  if (look.isThorough)
    for (const one of await findTaking(look)) if (!living.has(one)) lost.add(one);
  if (lost.size === 0) return 0;
  const { count, isComplete } = await putBack(look, [...lost]);
  if (isComplete) for (const executor of dead) await store.executors?.forget(executor);
  return count;
}

/** Every page is the first one: what is put back is no longer found. */
async function putBack(
  look: TakeOver,
  executorId: string[],
): Promise<{ readonly count: number; readonly isComplete: boolean }> {
  let count = 0;
  for (let page = 0; page < mostPages; page++) {
    const found = await listTaken(look, { executorId, offset: 0 });
    const queued = found.filter((one) => isOfTenant(look.tenant, one.workflowID));
    for (const [queueName, ofQueue] of Map.groupBy(queued, (one) => one.queueName)) {
      if (queueName === undefined) continue;
      const ids = ofQueue.map(({ workflowID }) => workflowID);
      await look.engine.resumeWorkflows(ids, { queueName });
      count += ids.length;
    }
    if (found.length < pageSize) return { count, isComplete: true };
  }
  return { count, isComplete: false };
}

/** The executors that have taken work. */
async function findTaking(look: TakeOver): Promise<ReadonlySet<string>> {
  const executors = new Set<string>();
  for (let page = 0; page < mostPages; page++) {
    const found = await listTaken(look, { offset: page * pageSize });
    for (const { executorId } of found) if (executorId !== undefined) executors.add(executorId);
    if (found.length < pageSize) break;
  }
  return executors;
}

function listTaken(
  { engine, tenant }: TakeOver,
  where: { readonly executorId?: string[]; readonly offset: number },
) {
  return engine.listWorkflows({
    ...where,
    applicationName,
    status: "PENDING",
    workflow_id_prefix: prefixOf(tenant),
    limit: pageSize,
    loadInput: false,
    loadOutput: false,
  });
}
