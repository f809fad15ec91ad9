import type { RunState } from "../events/run-state.ts";
import type { CancelOutcome } from "../ports/delegator.ts";
import type { Store } from "../ports/store.ts";

export interface CancelAfterChildrenParts {
  readonly store: Pick<Store, "readRun" | "subscribe">;
  readonly engine: { cancel(id: string, reason: string): Promise<CancelOutcome> };
}

/** Runs that end after their sub-agents, so that asking twice waits once. */
const waiting = new WeakMap<CancelAfterChildrenParts["engine"], Set<string>>();

/**
 * Cancels a run as soon as none of its sub-agents is open. The wish is this process's own: after a
 * restart the run continues.
 */
export async function cancelAfterChildren(
  { engine, store }: CancelAfterChildrenParts,
  runId: string,
  reason: string,
): Promise<"waiting" | CancelOutcome> {
  const run = await store.readRun(runId);
  if (run === undefined || run.outcome !== null || !hasOpenChildren(run)) {
    return engine.cancel(runId, reason);
  }
  const runs = waiting.get(engine) ?? new Set();
  waiting.set(engine, runs);
  if (runs.has(runId)) return "waiting";
  runs.add(runId);
  const stop = store.subscribe((events) => {
    const isNews = events.some(
      ({ run_id: of, type }) =>
        of === runId && (type === "agent.subagent_closed" || type === "run.finished"),
    );
    // A store that cannot be read leaves the run as it is, like a restart.
    if (isNews) void endIfAlone().catch(() => undefined);
  });
  const endIfAlone = async (): Promise<void> => {
    // Subscribers may be called during a transaction, which has ended after this.
    await undefined;
    const now = await store.readRun(runId);
    if (!runs.has(runId) || (now !== undefined && now.outcome === null && hasOpenChildren(now)))
      return;
    runs.delete(runId);
    stop();
    if (now?.outcome === null) await engine.cancel(runId, reason);
  };
  // The last one may have closed before the subscription.
  await endIfAlone();
  return "waiting";
}

function hasOpenChildren({ delegations }: RunState): boolean {
  return [...delegations.values()].some(
    ({ parentId, status }) => parentId !== null && status !== "closed",
  );
}
