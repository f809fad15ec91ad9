import type { StoredEvent } from "../../events/event.ts";
import { sleep, systemClock } from "../../ports/clock.ts";
import type { Store } from "../../ports/store.ts";
import { compareRuns, type RunDifference } from "./compare-runs.ts";
import { type Recording, recordingOf } from "./recording.ts";
import { Replayer } from "./replayer.ts";

/** A run that happened again, held against the first time. */
export interface ReplayedRun {
  readonly runId: string;
  readonly delegations: number;
  /** How many events were recorded. */
  readonly events: number;
  /** False: the run is still open, and was replayed as far as its log goes. */
  readonly isFinished: boolean;
  /** What is different, by delegation; nothing: it is the same. */
  readonly differences: readonly RunDifference[];
}

/**
 * Runs a whole tree again from its log: the engine works under the recorded contracts, models and
 * tools only answer what is recorded, and nothing outside is asked, opened or written. `memory` is
 * an empty store, which holds the replay afterwards.
 */
export async function replayRun(store: Store, runId: string, memory: Store): Promise<ReplayedRun> {
  const recording = await recordingOf(runId, store);
  const replayed = await replayRecording(recording, store, memory);
  const { delegations, events, isFinished, messages } = recording;
  const names = ["the recording", "the replay"] as const;
  const options = { names, withAmounts: true, isUnfinished: !isFinished };
  const differences = compareRuns([...events, ...messages], replayed, options);
  return {
    runId,
    delegations: delegations.size,
    events: events.length + messages.length,
    isFinished,
    differences,
  };
}

async function replayRecording(
  recording: Recording,
  source: Store,
  memory: Store,
): Promise<readonly StoredEvent[]> {
  const replayer = new Replayer(recording, source, memory);
  replayer.begin();
  await untilOver(replayer);
  replayer.abandon();
  const events: StoredEvent[] = [];
  // Reading waits for nothing: what was appended last is committed by the next turn of the loop.
  await new Promise((resolve) => setImmediate(resolve));
  for await (const event of memory.readEvents({ runId: recording.runId })) {
    events.push(withRecordedAsk(event, replayer.store.recordedAsk));
  }
  return events;
}

/** Questions got new ids, and what tools said of them in the recording names the old ones. */
function withRecordedAsk(event: StoredEvent, recorded: (id: string) => string): StoredEvent {
  if (event.type !== "agent.asked" && event.type !== "agent.answered") return event;
  const payload = { ...event.payload, ask_id: recorded(event.payload.ask_id) };
  return { ...event, payload } as StoredEvent;
}

/** How long a replay may stand still: nothing in it waits for anybody. */
const patienceMs = 400;
/** And how long it may go on after it has gone another way. */
const graceMs = 2000;
/** What one look counts at most: while the machine was busy elsewhere, the replay could not go on. */
const mostOfALookMs = 5;

/** Until everything recorded has happened again, or nothing happens any more. */
async function untilOver(replayer: Replayer): Promise<void> {
  const { course } = replayer;
  let { steps } = course;
  let lastLook = systemClock.monotonic();
  let stoodMs = 0;
  let sinceGivenUpMs = 0;
  let hasGivenUp = false;
  while (course.next !== undefined && !replayer.run.finished) {
    await new Promise((resolve) => setImmediate(resolve));
    const now = systemClock.monotonic();
    const passedMs = Math.min(now - lastLook, mostOfALookMs);
    lastLook = now;
    stoodMs += passedMs;
    if (hasGivenUp) sinceGivenUpMs += passedMs;
    if (sinceGivenUpMs > graceMs) return;
    if (course.steps !== steps) {
      steps = course.steps;
      stoodMs = 0;
    } else if (stoodMs > patienceMs) {
      if (hasGivenUp) return;
      hasGivenUp = true;
      stoodMs = 0;
      course.giveUp();
    } else if (stoodMs > 5) {
      // Something is under way that is not in memory alone: no need to spin.
      await sleep(systemClock, 1);
    }
  }
}
