import { type Delegation, isOpen } from "../../events/delegation.ts";
import type { NewEvent } from "../../events/event.ts";
import type { RunState } from "../../events/run-state.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { DispatchedWork } from "../../ports/workers.ts";
import { cancelStored, worstSettlement } from "../ends/cancel-stored.ts";
import type { EngineParts } from "../engine-parts.ts";
import { LoggedTime, longestTakeover } from "../recovery/logged-time.ts";

/** A delegation whose worker is dead, and since when this process knows, by a clock that cannot jump. */
export interface Orphan extends Pick<DispatchedWork, "delegationId" | "runId"> {
  readonly noticedAt: number;
}

/**
 * Orphans wait in their queues until a worker has a free place. Until then any worker that notices
 * them releases what their requests had reserved, and closes those that have used all of their time.
 * Gives the ones that are still orphaned.
 */
export async function tendOrphans(
  parts: EngineParts,
  orphans: readonly Orphan[],
): Promise<readonly Orphan[]> {
  const left: Orphan[] = [];
  for (const [runId, ofRun] of Map.groupBy(orphans, (one) => one.runId)) {
    const run = await parts.store.readRun(runId);
    if (run === undefined) continue;
    const still: { readonly orphan: Orphan; readonly delegation: Delegation }[] = [];
    for (const orphan of ofRun) {
      const delegation = run.delegations.get(orphan.delegationId);
      if (delegation && (await isOrphan(parts, delegation))) still.push({ orphan, delegation });
    }
    await releaseReservations(parts, runId, still);
    for (const { delegation, orphan } of still) {
      if (await isOverdue(parts, run, delegation, orphan)) await closeOverdue(parts, orphan);
      else left.push(orphan);
    }
  }
  return left;
}

async function isOrphan({ store }: EngineParts, delegation: Delegation): Promise<boolean> {
  const { worker = null } = delegation.share ?? {};
  return isOpen(delegation) && worker !== null && !(await store.isWorkerAlive(worker));
}

/**
 * Settled at their worst case, since only the dead worker knew what had arrived. An append that comes
 * second, after another worker's or a recovery's, is refused, and so is everything that the dead
 * worker would write if it came back.
 */
async function releaseReservations(
  { store }: EngineParts,
  runId: string,
  orphans: readonly { readonly delegation: Delegation }[],
): Promise<void> {
  for (const { delegation } of orphans) {
    const events: readonly NewEvent[] = worstSettlement(delegation);
    const { worker = null } = delegation.share ?? {};
    if (events.length === 0 || worker === null) continue;
    try {
      await store.append({ runId, by: "operator", declaresDead: worker, events });
    } catch (error) {
      if (!isLost(error)) throw error;
    }
  }
}

async function closeOverdue(parts: EngineParts, { delegationId, runId }: Orphan): Promise<void> {
  const { deadlines } = await parts.store.readContract(delegationId);
  const cause = { code: "total_deadline", ms: deadlines.total } as const;
  try {
    await cancelStored(parts, runId, delegationId, cause);
  } catch (error) {
    if (!isLost(error)) throw error;
  }
}

function isLost(error: unknown): boolean {
  if (!(error instanceof MandateError)) return false;
  return refusals.has(error.code);
}

const refusals: ReadonlySet<string> = new Set(["conflict", "fenced", "illegal-transition"]);

async function isOverdue(
  { clock, store, toolbox }: EngineParts,
  run: RunState,
  { id, startedAt }: Delegation,
  { noticedAt }: Orphan,
): Promise<boolean> {
  if (startedAt === null) return false;
  const contract = await store.readContract(id).catch(() => undefined);
  // A delegation whose contract was changed is closed by its recovery.
  const total = contract?.deadlines.total ?? Number.POSITIVE_INFINITY;
  if (clock.now() - startedAt <= total) return false;
  const time = new LoggedTime({
    longest: () => longestTakeover(total),
    isWaiting: (tool) => toolbox.get(tool)?.waits === true,
  });
  for await (const event of store.readEvents({ runId: run.id })) time.see(event);
  const known = clock.monotonic() - noticedAt;
  const used = time.totalAt(id, clock.now() - known);
  return used !== null && used + known > total;
}
