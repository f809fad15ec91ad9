import { externalProvider } from "../../contracts/contract.ts";
import type { Delegation } from "../../events/delegation.ts";
import type { StoredEvent } from "../../events/event.ts";
import type { Store } from "../../ports/store.ts";
import { livedTime, longestSilence, timeStood } from "./lived-time.ts";
import { Standstills } from "./standstills.ts";

export interface Overdue {
  readonly runId: string;
  readonly delegationId: string;
  readonly depth: number;
  /** What it may take as a whole. */
  readonly totalMs: number;
}

/** Since when a worker does nothing, by the wall, and for how long, by a clock that cannot jump. */
export interface Standstill {
  readonly since: number;
  readonly ms: number;
}

/**
 * The delegations of a worker that stands still which have used more than all of their time, and
 * `graceMs` besides: callers before those below them. What was before is told by their log, as far as
 * that can be believed; no clock that was set ends anybody. For whoever looks from outside, since the
 * worker itself does not get to it.
 */
export async function findOverdue(
  store: Store,
  worker: string,
  { since, ms }: Standstill,
  graceMs: number,
): Promise<readonly Overdue[]> {
  const found: Overdue[] = [];
  for (const { id: runId } of await store.listRuns({ open: true, limit: 10_000 })) {
    const run = await store.readRun(runId);
    if (run === undefined) continue;
    let standstills: Standstills | undefined;
    for (const delegation of run.delegations.values()) {
      const { depth, id, share, startedAt, status } = delegation;
      if (status !== "running" || startedAt === null) continue;
      if ((share?.worker ?? run.worker) !== worker) continue;
      const contract = await store.readContract(id);
      const { total } = contract.deadlines;
      // Of an agent that another program holds we know no more than that it is there.
      if (contract.model.provider === externalProvider || isResting(delegation)) continue;
      if (since - startedAt + ms <= total) continue;
      const events: StoredEvent[] = [];
      for await (const event of store.readEvents({ delegationId: id })) events.push(event);
      standstills ??= await standstillsOf(store, runId);
      const standings = standstills.of(id);
      // It waits for a person: a worker that does nothing costs it no time.
      if (standings.at(-1)?.to === Number.POSITIVE_INFINITY) continue;
      const longest = longestSilence(total);
      const last = events.at(-1)?.at ?? since;
      const silence = Math.max(0, since - last - timeStood(standings, last, since));
      const used = livedTime(events, longest, standings) + Math.min(silence, longest) + ms;
      if (used > total + graceMs) found.push({ runId, delegationId: id, depth, totalMs: total });
    }
  }
  return found.sort((one, other) => one.depth - other.depth);
}

async function standstillsOf(store: Store, runId: string): Promise<Standstills> {
  const found = new Standstills();
  for await (const event of store.readEvents({ runId })) found.see(event);
  return found;
}

function isResting(delegation: Delegation): boolean {
  return delegation.status === "running" && delegation.waitingOn.on === "paused";
}
