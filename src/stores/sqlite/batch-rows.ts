import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { StoredEvent } from "../../events/event.ts";
import { genesis } from "../../events/hash-chain.ts";
import { runIdOf } from "../../ports/identity.ts";
import { type BatchRow, eventsOf, maximumBatch } from "../shared/event-batch.ts";
import type { RunIndex } from "./run-index.ts";

/** Reads batches back, by run or from a sequence number on. */
export class BatchReader {
  readonly #index: RunIndex;
  readonly #indexedOfRun: StatementSync;
  readonly #recentOfRun: StatementSync;
  readonly #after: StatementSync;
  readonly #lastIndexed: StatementSync;
  readonly #lastRecent: StatementSync;

  constructor(database: DatabaseSync, index: RunIndex) {
    this.#index = index;
    this.#indexedOfRun = database.prepare(
      "SELECT b.* FROM run_index i JOIN event_batches b ON b.first_seq = i.first_seq WHERE i.run = ? AND i.first_seq > ? ORDER BY i.first_seq LIMIT ?",
    );
    this.#recentOfRun = database.prepare(
      "SELECT * FROM event_batches WHERE first_seq > ? AND run = ? ORDER BY first_seq LIMIT ?",
    );
    this.#after = database.prepare(
      "SELECT * FROM event_batches WHERE first_seq + count > ? AND first_seq > ? ORDER BY first_seq LIMIT ?",
    );
    this.#lastIndexed = database.prepare(
      "SELECT b.* FROM run_index i JOIN event_batches b ON b.first_seq = i.first_seq WHERE i.run = ? AND i.first_seq < ? ORDER BY i.first_seq DESC LIMIT 1",
    );
    this.#lastRecent = database.prepare(
      "SELECT * FROM event_batches WHERE first_seq > ? AND first_seq < ? AND run = ? ORDER BY first_seq DESC LIMIT 1",
    );
  }

  *ofRun(run: number): Generator<StoredEvent> {
    let before = genesis(runIdOf(run));
    for (const row of this.batchesOf(run)) {
      yield* eventsOf(row, before);
      before = row.hash;
    }
  }

  *batchesOf(run: number): Generator<BatchRow> {
    let position = 0;
    const indexed = this.#index.indexedThrough();
    for (const isIndexed of [true, false]) {
      for (;;) {
        const rows = (isIndexed
          ? this.#indexedOfRun.all(run, position, pageSize)
          : this.#recentOfRun.all(
              Math.max(position, indexed),
              run,
              pageSize,
            )) as unknown as BatchRow[];
        yield* rows;
        position = rows.at(-1)?.first_seq ?? position;
        if (rows.length < pageSize) break;
      }
    }
  }

  /**
   * All events with a greater sequence number than `seq`, of every run. `headOf` knows the hash after
   * a run's n-th event, for runs that are in memory and have come just so far.
   */
  *after(
    seq: number,
    headOf: (run: number, runSeq: number) => string | undefined = () => undefined,
  ): Generator<StoredEvent> {
    // A batch that straddles `seq` begins before it, but never more than a batch's length before.
    let position = seq - maximumBatch;
    const heads = new Map<number, string>();
    for (;;) {
      const rows = this.#after.all(seq + 1, position, pageSize) as unknown as BatchRow[];
      for (const row of rows) {
        const known = heads.get(row.run) ?? headOf(row.run, row.first_run_seq - 1);
        const before = known ?? this.endOf(row.run, row.first_seq).head;
        heads.set(row.run, row.hash);
        for (const event of eventsOf(row, before)) if (event.seq > seq) yield event;
        position = row.first_seq;
      }
      if (rows.length < pageSize) return;
    }
  }

  /** How far a run had come before a sequence number, without reading all of it. */
  endOf(run: number, beforeSeq: number): { readonly lastRunSeq: number; readonly head: string } {
    const last = (this.#lastRecent.get(this.#index.indexedThrough(), beforeSeq, run) ??
      this.#lastIndexed.get(run, beforeSeq)) as BatchRow | undefined;
    if (last === undefined) return { lastRunSeq: 0, head: genesis(runIdOf(run)) };
    return { lastRunSeq: last.first_run_seq + last.count - 1, head: last.hash };
  }
}

const pageSize = 200;
