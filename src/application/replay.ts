import { compareRuns, type RunDifference } from "../delegations/replay/compare-runs.ts";
import { type ReplayedRun, replayRun } from "../delegations/replay/replay-run.ts";
import type { StoredEvent } from "../events/event.ts";
import type { Store } from "../ports/store.ts";

export type { ReplayedRun, RunDifference };

/** Runs a recorded run again, from its log alone; `memory` is an empty store that takes the replay. */
export function replay(store: Store, runId: string, memory: Store): Promise<ReplayedRun> {
  return replayRun(store, runId, memory);
}

/** Where two runs part, delegation by delegation. */
export async function compareStoredRuns(
  store: Store,
  one: string,
  other: string,
): Promise<readonly RunDifference[]> {
  const names = [`run ${one}`, `run ${other}`] as const;
  return compareRuns(await eventsOf(store, one), await eventsOf(store, other), { names });
}

async function eventsOf(store: Store, runId: string): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = [];
  for await (const event of store.readEvents({ runId })) events.push(event);
  return events;
}
