import type { StoredEvent } from "../../events/event.ts";
import { restsAfter, timeBetween } from "./attempt-time.ts";
import type { Standing } from "./standstills.ts";

/**
 * How long a delegation has been worked on since it started, by its log. That has the times of wall
 * clocks, which jump, and of several machines, which differ: a step back counts for nothing, the time
 * before somebody takes it up for nothing either, and no silence for more than `longest`. So it may be
 * given too much time after a crash, and is never ended because a clock was set. Nor does the time
 * count that it only waited for a person.
 */
export function livedTime(
  events: readonly StoredEvent[],
  longest: number,
  standings: readonly Standing[] = [],
): number {
  let lived = 0;
  let last: number | null = null;
  let isResting = false;
  for (const event of events) {
    if (last !== null && !isResting) {
      const stood = timeStood(standings, last, event.at);
      lived += Math.min(
        Math.max(0, timeBetween(last, event, Number.POSITIVE_INFINITY) - stood),
        longest,
      );
    }
    isResting = restsAfter(event, isResting);
    if (last !== null || event.type === "agent.subagent_started") last = event.at;
  }
  return lived;
}

/** What of the time from one moment to another it only waited for a person. */
export function timeStood(standings: readonly Standing[], from: number, to: number): number {
  let stood = 0;
  for (const one of standings)
    stood += Math.max(0, Math.min(one.to, to) - Math.max(one.from, from));
  return stood;
}

/** The longest silence that is believed: a clock that was set by all of `total` ends nobody. */
export function longestSilence(total: number): number {
  return total / 10;
}
