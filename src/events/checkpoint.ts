import { createHash, type Hash } from "node:crypto";
import type { LogHead, LogSpan } from "../ports/inspection.ts";

/** Where a run's log ends: how many events it has, the number of the last one, the hash after it. */
export interface RunEnd extends LogHead {
  readonly events: number;
}

/**
 * What a store's log was at one time, for keeping elsewhere. The hash at the end of a run commits to
 * every event of it, so a later log can be held against this and each run that differs be named.
 */
export interface Checkpoint {
  readonly version: 1;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The last sequence number, over all runs. */
  readonly seq: number;
  /** Which run has which sequence numbers. */
  readonly order: string;
  /** The control log, and every run that was stored then. */
  readonly runs: readonly RunEnd[];
}

/**
 * A hash of which run has which sequence numbers, up to one of them. Runs that were pruned since
 * count by the numbers in their receipts, so that pruning does not change it.
 */
export class OrderHash {
  readonly #through: number;
  readonly #hash: Hash = createHash("sha256");
  #current: LogSpan | undefined;
  #last = 0;

  constructor(through = Number.POSITIVE_INFINITY) {
    this.#through = through;
  }

  /** In the order of sequence numbers. */
  take({ count: all, firstSeq, runId }: LogSpan): void {
    const count = Math.min(all, this.#through - firstSeq + 1);
    if (count <= 0) return;
    this.#last = firstSeq + count - 1;
    const before = this.#current;
    if (before?.runId === runId && before.firstSeq + before.count === firstSeq) {
      this.#current = { ...before, count: before.count + count };
      return;
    }
    this.#write();
    this.#current = { runId, firstSeq, count };
  }

  /** The last number that it has taken in. */
  get last(): number {
    return this.#last;
  }

  digest(): string {
    this.#write();
    this.#current = undefined;
    return this.#hash.digest("hex");
  }

  #write(): void {
    if (this.#current === undefined) return;
    const { count, firstSeq, runId } = this.#current;
    this.#hash.update(`${runId} ${firstSeq} ${count}\n`);
  }
}
