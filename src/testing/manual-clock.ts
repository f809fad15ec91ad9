/** For tests: a clock that stands still until the test moves it, and chance that repeats. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock, Timer } from "../ports/clock.ts";

export interface ManualClockOptions {
  /** Milliseconds since 1970 at the start. */
  readonly now?: number;
  readonly seed?: number;
}

interface Waiting {
  readonly act: () => void;
  readonly everyMs: number | undefined;
  at: number;
}

/**
 * @example
 * const clock = new ManualClock();
 * clock.after(5000, () => expire());
 * await clock.advance(5000);
 */
export class ManualClock implements Clock {
  readonly #startedAt: number;
  readonly #timers = new Set<Waiting>();
  #elapsedMs = 0;
  #seed: number;

  constructor({ now = Date.UTC(2026, 0, 1), seed = 1 }: ManualClockOptions = {}) {
    this.#startedAt = now;
    this.#seed = seed;
  }

  /** How many timers have been set and have not gone off. */
  get waiting(): number {
    return this.#timers.size;
  }

  now(): number {
    return this.#startedAt + this.#elapsedMs;
  }

  monotonic(): number {
    return this.#elapsedMs;
  }

  after(ms: number, act: () => void): Timer {
    return this.#set({ act, at: this.#elapsedMs + Math.max(0, ms), everyMs: undefined });
  }

  every(ms: number, act: () => void): Timer {
    return this.#set({ act, at: this.#elapsedMs + Math.max(1, ms), everyMs: Math.max(1, ms) });
  }

  random(): number {
    this.#seed = (Math.imul(this.#seed, 1_664_525) + 1_013_904_223) >>> 0;
    return this.#seed / 2 ** 32;
  }

  /** Moves time on. Timers go off in the order of their time, and what they begin may go on. */
  async advance(ms: number): Promise<void> {
    const until = this.#elapsedMs + ms;
    for (let next = this.#next(until); next !== undefined; next = this.#next(until)) {
      this.#elapsedMs = Math.max(this.#elapsedMs, next.at);
      if (next.everyMs === undefined) this.#timers.delete(next);
      else next.at += next.everyMs;
      next.act();
      await nextTurn();
    }
    this.#elapsedMs = until;
    await nextTurn();
  }

  #next(until: number): Waiting | undefined {
    let next: Waiting | undefined;
    for (const one of this.#timers) {
      if (one.at <= until && (next === undefined || one.at < next.at)) next = one;
    }
    return next;
  }

  #set(one: Waiting): Timer {
    this.#timers.add(one);
    const timer: Timer = {
      cancel: () => void this.#timers.delete(one),
      unref: () => timer,
    };
    return timer;
  }
}
