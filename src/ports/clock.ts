/**
 * Time as a parameter. `now` is for people and for the log; `monotonic` is for every deadline, so
 * that a clock that jumps, or a laptop that sleeps, expires nothing by itself.
 */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds since some fixed moment; never goes back. */
  monotonic(): number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  // Whole milliseconds: every deadline is one, and engines keep small integers without a box.
  monotonic: () => Math.floor(performance.now()),
};
