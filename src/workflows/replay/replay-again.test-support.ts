import type { Store } from "../../ports/store.ts";
import { SqliteStore } from "../../stores/sqlite/sqlite-store.ts";
import { type ReplayedRun, replayRun } from "./replay-run.ts";

/** Replays a run on a store of its own. */
export async function replayAgain(store: Store, runId: string): Promise<ReplayedRun> {
  const memory = new SqliteStore({ path: ":memory:", synchronous: "normal", artifacts: null });
  try {
    return await replayRun(store, runId, memory);
  } finally {
    await memory.close();
  }
}
