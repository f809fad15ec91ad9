import type { Store } from "../../ports/store.ts";
import { SqliteStore } from "../../stores/sqlite/sqlite-store.ts";
import { type ReplayedRun, replayRun } from "./replay-run.ts";

/** Replays a run on a store of its own, and says how long it took. */
export async function replayAgain(
  store: Store,
  runId: string,
): Promise<ReplayedRun & { readonly ms: number }> {
  const memory = new SqliteStore({ path: ":memory:", synchronous: "normal", artifacts: null });
  const began = performance.now();
  try {
    const replayed = await replayRun(store, runId, memory);
    return { ...replayed, ms: performance.now() - began };
  } finally {
    await memory.close();
  }
}
