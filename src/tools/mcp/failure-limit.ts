import type { Clock } from "../../ports/clock.ts";

const mostFailures = 5;
const windowMs = 60_000;

/**
 * Remembers how often a server failed lately. A broken one costs its start-up time at every try,
 * and a hundred agents may all want it: after a few failures it is left alone for a while.
 */
export class FailureLimit {
  readonly #clock: Clock;
  readonly #failures = new Map<string, number[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  note(key: string): void {
    this.#failures.set(key, [...this.#recent(key), this.#clock.monotonic()]);
  }

  /** How long until it may be started again; 0: now. */
  waitFor(key: string): number {
    const recent = this.#recent(key);
    const oldest = recent.at(-mostFailures);
    return oldest === undefined ? 0 : Math.ceil(oldest + windowMs - this.#clock.monotonic());
  }

  #recent(key: string): number[] {
    const since = this.#clock.monotonic() - windowMs;
    const recent = (this.#failures.get(key) ?? []).filter((at) => at > since);
    if (recent.length === 0) this.#failures.delete(key);
    return recent;
  }
}
