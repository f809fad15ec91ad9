import type { Clock } from "../../ports/clock.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Database } from "./database.ts";

/** Enough for thousands of ids without waiting. */
const firstSize = 16_384;
const largestSize = 131_072;
/** A block that was used up faster than this was too small. */
const shortMs = 10_000;

interface Block {
  next: number;
  readonly end: number;
}

/**
 * Numbers for ids, available without waiting: they are reserved in blocks, ahead of their use. A
 * process that dies leaves a gap; one that closes returns its block if no other block was reserved
 * after it. Ids are unique, not consecutive.
 */
export class IdBlocks {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #blocks: Block[] = [];
  #size = firstSize;
  #takenAt: number | undefined;
  #taking: Promise<void> | undefined;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  async take(): Promise<void> {
    const now = this.#clock.monotonic();
    if (this.#takenAt !== undefined && now - this.#takenAt < shortMs) {
      this.#size = Math.min(2 * this.#size, largestSize);
    }
    this.#takenAt = now;
    const size = this.#size;
    // Repeated after a lost answer it reserves another block: a gap, never a duplicate.
    const [row] = await this.#database.query({
      text: `UPDATE ${this.#database.schema.quoted}.meta SET value = value + $1 WHERE key = 'next_id' RETURNING value`,
      values: [size],
    });
    const end = Number(row?.["value"]);
    // Number zero is the control log.
    this.#blocks.push({ next: Math.max(1, end - size), end });
  }

  next(): number {
    const [block] = this.#blocks;
    if (block === undefined) {
      void this.#takeSoon();
      throw new MandateError(
        "database-unusable",
        `No id is left: the database ${this.#database.place} has not answered for a long time.`,
      );
    }
    const number = block.next++;
    if (block.next === block.end) this.#blocks.shift();
    if (this.#left < this.#size / 2) void this.#takeSoon();
    return number;
  }

  async giveBack(): Promise<void> {
    const block = this.#blocks.at(-1);
    if (block === undefined || this.#blocks.length > 1) return;
    // A failure is not retried: another process may have reserved the same numbers in between.
    await this.#database.queryOnce({
      text: `UPDATE ${this.#database.schema.quoted}.meta SET value = $1 WHERE key = 'next_id' AND value = $2`,
      values: [block.next, block.end],
    });
    this.#blocks.length = 0;
  }

  get #left(): number {
    return this.#blocks.reduce((sum, { end, next }) => sum + end - next, 0);
  }

  #takeSoon(): Promise<void> {
    this.#taking ??= this.take()
      .catch(() => undefined)
      .finally(() => (this.#taking = undefined));
    return this.#taking;
  }
}
