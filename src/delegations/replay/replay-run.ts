import type { StoredEvent } from "../../events/event.ts";
import { sleep, systemClock } from "../../ports/clock.ts";
import type { Store } from "../../ports/store.ts";
import { compareRuns, type RunDifference } from "./compare-runs.ts";
import { type Recording, recordingOf } from "./recording.ts";
import { Replayer } from "./replayer.ts";

/** A replay, compared with its recording. */
export interface ReplayedRun {
  readonly runId: string;
  readonly delegations: number;
  /** How many events were recorded. */
  readonly events: number;
  /** False: the run is still open, and was replayed as far as its log goes. */
  readonly isFinished: boolean;
  /** The first difference of each delegation; empty when they are equal. */
  readonly differences: readonly RunDifference[];
}

/**
 * Replays a run from its log: the engine runs under the recorded contracts, models and tools only
 * give what is recorded, and nothing outside is asked, opened or written. `memory` is an empty store,
 * which holds the replay afterwards.
 * @example
 * const { differences } = await replayRun(store, "r1a2b3c", emptyStore);
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
  // The last append is committed in the next turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve));
  for await (const event of memory.readEvents({ runId: recording.runId })) {
    events.push(withRecordedAsk(event, replayer.store.recordedAsk));
  }
  return events;
}

/** Questions have new ids in a replay; the comparison needs the recorded ones. */
function withRecordedAsk(event: StoredEvent, recorded: (id: string) => string): StoredEvent {
  if (event.type !== "agent.asked" && event.type !== "agent.answered") return event;
  const payload = { ...event.payload, ask_id: recorded(event.payload.ask_id) };
  return { ...event, payload } as StoredEvent;
}

/** How long a replay may stand still before everything that waits is let through. */
const standstillMs = 400;
/** How long a replay may continue after everything was let through. */
const graceMs = 2000;
/** The most that one check counts: the replay could not continue while the machine was busy. */
const mostOfALookMs = 5;

/** Waits until every recorded event has happened again, or the replay stands still. */
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
    } else if (stoodMs > standstillMs) {
      if (hasGivenUp) return;
      hasGivenUp = true;
      stoodMs = 0;
      course.giveUp();
    } else if (stoodMs > 5) {
      // Something waits for a timer or for input and output: do not spin.
      await sleep(systemClock, 1);
    }
  }
}
