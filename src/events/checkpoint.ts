import { createHash, type Hash } from "node:crypto";
import type { LogHead, LogSpan } from "../ports/inspection.ts";

/** The end of a run's log: the number of its events, and the number and hash of the last one. */
export interface RunEnd extends LogHead {
  readonly events: number;
}

/**
 * The state of a store's log at one time, to be kept elsewhere. The last hash of a run commits to all of
 * its events, so `mandate verify --against` can name each run that differs.
 */
export interface Checkpoint {
  readonly version: 1;
  /** The time of the checkpoint, in milliseconds since 1970. */
  readonly at: number;
  /** The last sequence number, over all runs. */
  readonly seq: number;
  /** The digest of `OrderHash`. */
  readonly order: string;
  /** The control log, and every stored run. */
  readonly runs: readonly RunEnd[];
}

/**
 * A hash over the assignment of sequence numbers to runs, up to one number. Pruned runs count by the
 * numbers in their receipts, so that pruning does not change the hash.
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

  /** The last number that was added. */
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
