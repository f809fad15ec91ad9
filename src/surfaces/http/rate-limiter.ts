/** `burst` requests at once, and `perSecond` more with every second. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

interface Bucket {
  tokens: number;
  at: number;
}

/** Most buckets kept: invented names must not fill the memory. */
const mostBuckets = 10_000;

/** A token bucket for each name: every request takes a token, and time restores them. */
export class RateLimiter {
  readonly #rate: Rate;
  readonly #monotonic: () => number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(rate: Rate, monotonic: () => number) {
    this.#rate = rate;
    this.#monotonic = monotonic;
  }

  /** Takes a token. Returns 0, or the seconds until the next token. */
  take(name: string): number {
    const wait = this.secondsToWait(name);
    if (wait === 0) this.#bucketOf(name).tokens -= 1;
    return wait;
  }

  /** Takes tokens even below zero: the next requests wait until they are restored. */
  spend(name: string, amount: number): void {
    this.#bucketOf(name).tokens -= amount;
  }

  /** The wait for a token, without taking one. */
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
    // Reinserted at the end, so that the least recently used bucket is dropped first.
    this.#buckets.delete(name);
    this.#buckets.set(name, bucket);
    if (this.#buckets.size > mostBuckets) {
      const [oldest] = this.#buckets.keys();
      if (oldest !== undefined) this.#buckets.delete(oldest);
    }
    return bucket;
  }
}
