import type { DelegationResult } from "../../ports/delegator.ts";
import type { Store } from "../../ports/store.ts";
import { resultOf } from "../../sessions/delegation-result.ts";

/** The result that the log has of a delegation, or of the run itself: its root's. Null: none yet. */
export async function storedResult(
  store: Pick<Store, "readRun">,
  runId: string,
  id: string,
): Promise<DelegationResult | null> {
  const run = await store.readRun(runId);
  if (run === undefined) return null;
  if (id !== runId) return resultOf(run, id);
  const root = [...run.delegations.values()].find(({ parentId }) => parentId === null);
  return root === undefined ? null : resultOf(run, root.id);
}
