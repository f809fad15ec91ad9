import type { CloseReason } from "../../../events/close-reason.ts";
import type { RunState } from "../../../events/run-state.ts";
import type { RunRow, Store } from "../../../ports/store.ts";
import { rootOf } from "../../../sessions/session.ts";
import { StoreMemory } from "../../../sessions/store-memory.ts";

/** What has ended does not end again: the log of a run is folded for this once. */
const known = new StoreMemory<CloseReason | null>(10_000);

/** Why a run failed or was cancelled, which its row does not have. */
export async function closeReasonOf(
  store: Store,
  { id, outcome }: Pick<RunRow, "id" | "outcome">,
): Promise<CloseReason | null> {
  if (outcome === null || outcome === "succeeded") return null;
  const kept = known.get(store, id);
  if (kept !== undefined) return kept;
  // A log that is damaged says so where it is looked at; a list shows what its row has.
  const run = await store.readRun(id).catch(() => undefined);
  const reason = run === undefined ? null : closeReasonIn(run);
  known.keep(store, id, reason);
  return reason;
}

export function closeReasonIn(run: RunState): CloseReason | null {
  const root = rootOf(run);
  if (run.outcome === null || run.outcome === "succeeded") return null;
  // A run can also fail by another delegation than its root.
  return root?.status === "closed" && root.finalStatus === "failed" ? root.closeReason : null;
}
