import type { DBOSClient } from "@dbos-inc/dbos-sdk";
import type { Clock } from "../../ports/clock.ts";
import type { Store } from "../../ports/store.ts";
import { applicationName } from "./load-dbos.ts";
import { isOfTenant, prefixOf } from "./workflow-id.ts";

/** What it takes of the engine: a worker has all of it, and so has a client. */
export type TakenWork = Pick<DBOSClient, "listWorkflows" | "resumeWorkflows">;

export interface TakeOver {
  readonly engine: TakenWork;
  readonly tenant: string;
  /** The executor that looks: it lives, whatever became of its lease while it was stopped. */
  readonly self: string;
  readonly store: Pick<Store, "workers" | "executors">;
  readonly clock: Clock;
  /**
   * Also looks at everything that is taken, for executors that nobody knows: those of a version
   * that did not enlist, or whose tables were restored.
   */
  readonly isThorough?: boolean;
}

const pageSize = 500;
/** Together more than a fleet has at work; the next look goes on. */
const mostPages = 200;
/** A database that answers so late was away, and all leases ran out meanwhile. */
const lateMs = 2000;

/**
 * Puts back into their queues what workers had taken who are gone: of one tenant, whose tables know
 * who takes its work. Several survivors may do so at once: who is first to claim a delegation works
 * on it. A worker of whom nothing is left is forgotten. Gives how many there were.
 */
export async function takeOverLost(look: TakeOver): Promise<number> {
  const { clock, self, store } = look;
  const askedAt = clock.monotonic();
  const workers = (await store.workers?.()) ?? [];
  // Those who live say so in a moment; nobody is to be taken for dead until they could.
  if (clock.monotonic() - askedAt > lateMs) return 0;
  const enlisted = workers.flatMap(({ executor, isAlive }) => {
    return executor === null ? [] : [{ executor, isAlive }];
  });
  const alive = enlisted.filter(({ isAlive }) => isAlive).map(({ executor }) => executor);
  const living = new Set([...alive, self]);
  const dead = [...new Set(enlisted.map(({ executor }) => executor))].filter(
    (executor) => !living.has(executor),
  );
  const unknown = look.isThorough ? await findUnknown(look, living) : [];
  const lost = [...new Set([...dead, ...unknown])];
  if (lost.length === 0) return 0;
  const { count, isComplete } = await putBack(look, lost);
  if (isComplete) for (const executor of dead) await store.executors?.forget(executor);
  return count;
}

/** What is put back is no longer found, so every page is the first one. */
async function putBack(
  look: TakeOver,
  executorId: string[],
): Promise<{ readonly count: number; readonly isComplete: boolean }> {
  let count = 0;
  for (let page = 0; page < mostPages; page++) {
    const found = await listTaken(look, { executorId, offset: 0 });
    const queued = found.filter((one) => isOfTenant(look.tenant, one.workflowID));
    const byQueue = Map.groupBy(queued, ({ queueName }) => queueName);
    for (const [queueName, ofQueue] of byQueue) {
      if (queueName === undefined) continue;
      const ids = ofQueue.map(({ workflowID }) => workflowID);
      await look.engine.resumeWorkflows(ids, { queueName });
      count += ids.length;
    }
    if (found.length < pageSize) return { count, isComplete: true };
  }
  return { count, isComplete: false };
}

async function findUnknown(
  look: TakeOver,
  living: ReadonlySet<string>,
): Promise<readonly string[]> {
  const unknown = new Set<string>();
  for (let page = 0; page < mostPages; page++) {
    const found = await listTaken(look, { offset: page * pageSize });
    for (const { executorId } of found) {
      if (executorId !== undefined && !living.has(executorId)) unknown.add(executorId);
    }
    if (found.length < pageSize) break;
  }
  return [...unknown];
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
