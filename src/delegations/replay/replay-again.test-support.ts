import { expect } from "vitest";
import type { Store } from "../../ports/store.ts";
import { SqliteStore } from "../../stores/sqlite/sqlite-store.ts";
import { withScrambledSentences } from "../../testing/scrambled-sentences.test-support.ts";
import { type ReplayedRun, replayRun } from "./replay-run.ts";

/** Replays a run on a store of its own, and again when no sentence of the runtime can be read. */
export async function replayAgain(store: Store, runId: string): Promise<ReplayedRun> {
  const replayed = await replayInMemory(store, runId);
  const unreadable = await replayInMemory(withScrambledSentences(store), runId);
  expect(withoutMessages(unreadable)).toEqual(withoutMessages(replayed));
  return replayed;
}

function withoutMessages({ differences, ...facts }: ReplayedRun): unknown {
  return { ...facts, differences: differences.map(({ path, seq }) => ({ path, seq })) };
}

async function replayInMemory(store: Store, runId: string): Promise<ReplayedRun> {
  const memory = new SqliteStore({ path: ":memory:", synchronous: "normal", artifacts: null });
  try {
    return await replayRun(store, runId, memory);
  } finally {
    await memory.close();
  }
}
