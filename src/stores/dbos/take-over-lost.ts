import type { DBOSClient } from "@dbos-inc/dbos-sdk";
import type { Clock } from "../../ports/clock.ts";
import type { Store } from "../../ports/store.ts";
import { applicationName } from "./load-dbos.ts";
import { isOfTenant, prefixOf } from "./queues.ts";

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
 * Puts what dead workers of one tenant had taken back into its queues, and forgets the executors of
 * which nothing is left. Several survivors may do so at once: the first to claim a delegation works
 * on it. Returns how many there were.
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
