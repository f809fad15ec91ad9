import { externalProvider } from "../contracts/contract.ts";
import type { StoredEvent } from "../events/event.ts";
import type { Store } from "../ports/store.ts";
import { restingTime } from "./attempt-time.ts";

export interface Overdue {
  readonly runId: string;
  readonly delegationId: string;
  readonly depth: number;
  /** What it may take as a whole. */
  readonly totalMs: number;
}

/**
 * The delegations of a worker that have used more than all of their time by `now`, and `graceMs`
 * besides, as their log tells: callers before those below them. For whoever looks from outside, since
 * the worker itself does not get to it.
 */
export async function findOverdue(
  store: Store,
  worker: string,
  now: number,
  graceMs: number,
): Promise<readonly Overdue[]> {
  const found: Overdue[] = [];
  for (const { id: runId } of await store.listRuns({ open: true, limit: 10_000 })) {
    const run = await store.readRun(runId);
    if (run === undefined) continue;
    for (const delegation of run.delegations.values()) {
      const { depth, id, share, startedAt, status } = delegation;
      if (status !== "running" || startedAt === null) continue;
      if ((share?.worker ?? run.worker) !== worker) continue;
      const contract = await store.readContract(id);
      const { total } = contract.deadlines;
      // Of an agent that another program holds we know no more than that it is there.
      if (contract.model.provider === externalProvider || now - startedAt <= total) continue;
      const events: StoredEvent[] = [];
      for await (const event of store.readEvents({ delegationId: id })) events.push(event);
      const used = now - startedAt - restingTime(events);
      if (used > total + graceMs) found.push({ runId, delegationId: id, depth, totalMs: total });
    }
  }
  return found.sort((one, other) => one.depth - other.depth);
}
