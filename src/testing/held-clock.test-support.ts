import { type Clock, systemClock } from "../ports/clock.ts";

/**
 * The machine's timers, and a time of day that passes only when the test says so. A deadline that is
 * judged by the clock expires after `pass` and never because the machine is busy.
 *
 * @example
 * const clock = new HeldClock();
 * await using mandate = await openEngine({ clock, profiles, model });
 * clock.pass(1600);
 */
export class HeldClock implements Clock {
  readonly after = systemClock.after;
  readonly every = systemClock.every;
  readonly random = systemClock.random;
  readonly #startedAt = Date.UTC(2026, 0, 1);
  // Not zero: the runtime reads a zero as "has not begun".
  #elapsedMs = 1000;

  now(): number {
    return this.#startedAt + this.#elapsedMs;
  }

  monotonic(): number {
    return this.#elapsedMs;
  }

  pass(ms: number): void {
    this.#elapsedMs += ms;
  }
}
