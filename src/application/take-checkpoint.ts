import type { CheckReport } from "../events/checker/check-report.ts";
import { checkStore } from "../events/checker/check-store.ts";
import { type Checkpoint, OrderHash, type RunEnd } from "../events/checkpoint.ts";
import type { Store } from "../ports/store.ts";

/**
 * Reads the whole log, checks it, and gives what there is to keep of it elsewhere. A log that does
 * not hold gets no checkpoint: the checkpoint would vouch for it.
 */
export async function takeCheckpoint(
  store: Store,
  at: number,
): Promise<{ readonly report: CheckReport; readonly checkpoint: Checkpoint | undefined }> {
  const runs: RunEnd[] = [];
  const order = new OrderHash();
  const report = await checkStore(store, {
    order,
    onLog: ({ events, hash, runId, seq }) => void runs.push({ runId, events, seq, hash }),
  });
  if (!report.ok) return { report, checkpoint: undefined };
  const seq = order.last;
  return { report, checkpoint: { version: 1, at, seq, order: order.digest(), runs } };
}
