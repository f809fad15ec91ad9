import type { StoredEvent } from "../../events/event.ts";
import { restsAfter, timeBetween } from "./attempt-time.ts";

/**
 * How long a delegation has been worked on since it started, by its log. That has the times of wall
 * clocks, which jump, and of several machines, which differ: a step back counts for nothing, the time
 * before somebody takes it up for nothing either, and no silence for more than `longest`. So it may be
 * given too much time after a crash, and is never ended because a clock was set.
 */
export function livedTime(events: readonly StoredEvent[], longest: number): number {
  let lived = 0;
  let last: number | null = null;
  let isResting = false;
  for (const event of events) {
    if (last !== null && !isResting) lived += timeBetween(last, event, longest);
    isResting = restsAfter(event, isResting);
    if (last !== null || event.type === "agent.subagent_started") last = event.at;
  }
  return lived;
}

/** The longest silence that is believed: a clock that was set by all of `total` ends nobody. */
export function longestSilence(total: number): number {
  return total / 10;
}
