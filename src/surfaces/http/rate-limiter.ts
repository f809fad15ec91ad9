/** So many at once, and so many more for every second that passes. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

interface Bucket {
  tokens: number;
  at: number;
}

/** How many are remembered: a stranger who invents names must not fill the memory. */
const mostBuckets = 10_000;

/** A bucket of tokens for each name: every try takes one, time puts them back. */
export class RateLimiter {
  readonly #rate: Rate;
  readonly #monotonic: () => number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(rate: Rate, monotonic: () => number) {
    this.#rate = rate;
    this.#monotonic = monotonic;
  }

  /** Zero when there was one to take; otherwise after how many seconds there will be. */
  take(name: string): number {
    const wait = this.secondsToWait(name);
    if (wait === 0) this.#bucketOf(name).tokens -= 1;
    return wait;
  }

  /** Takes that many whether they are there or not: whoever comes next waits until they are. */
  spend(name: string, amount: number): void {
    this.#bucketOf(name).tokens -= amount;
  }

  /** Looks without taking. */
  secondsToWait(name: string): number {
    const { tokens } = this.#bucketOf(name);
    return tokens >= 1 ? 0 : Math.max(1, Math.ceil((1 - tokens) / this.#rate.perSecond));
  }

  #bucketOf(name: string): Bucket {
    const { burst, perSecond } = this.#rate;
    const now = this.#monotonic();
    const bucket = this.#buckets.get(name) ?? { tokens: burst, at: now };
    bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1000) * perSecond);
    bucket.at = now;
    // The longest unused is first in line to be forgotten.
    this.#buckets.delete(name);
    this.#buckets.set(name, bucket);
    if (this.#buckets.size > mostBuckets) {
      const [oldest] = this.#buckets.keys();
      if (oldest !== undefined) this.#buckets.delete(oldest);
    }
    return bucket;
  }
}
