import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { StoredEvent } from "../../events/event.ts";
import { genesis, link } from "../../events/hash-chain.ts";
import { runIdOf } from "../../ports/identity.ts";

export interface BatchRow {
  readonly first_seq: number;
  readonly run: number;
  readonly first_run_seq: number;
  readonly count: number;
  readonly hash: string;
  readonly events: string;
}

type EventRow = [type: string, subAgentId: string | null, at: number, payload: unknown];

/** The events of a batch, with their hashes worked out from the hash that stood before it. */
export function eventsOf(row: BatchRow, before: string): StoredEvent[] {
  const runId = runIdOf(row.run);
  let head = before;
  return (JSON.parse(row.events) as EventRow[]).map((stored, index) => {
    head = link(head, JSON.stringify(stored));
    const [type, subAgentId, at, payload] = stored;
    return {
      seq: row.first_seq + index,
      run_seq: row.first_run_seq + index,
      run_id: runId,
      ...(subAgentId === null ? {} : { sub_agent_id: subAgentId }),
      type,
      at,
      payload,
      hash: head,
    } as StoredEvent;
  });
}

/** Reads batches back, by run or from a sequence number on. */
export class BatchReader {
  readonly #byRun: StatementSync;
  readonly #after: StatementSync;
  readonly #hashBefore: StatementSync;

  constructor(database: DatabaseSync) {
    this.#byRun = database.prepare(
      "SELECT * FROM event_batches WHERE run = ? AND first_seq > ? ORDER BY first_seq LIMIT ?",
    );
    this.#after = database.prepare(
      "SELECT * FROM event_batches WHERE first_seq + count > ? AND first_seq > ? ORDER BY first_seq LIMIT ?",
    );
    this.#hashBefore = database.prepare(
      "SELECT hash FROM event_batches WHERE run = ? AND first_seq < ? ORDER BY first_seq DESC LIMIT 1",
    );
  }

  *ofRun(run: number): Generator<StoredEvent> {
    let before = genesis(runIdOf(run));
    let position = 0;
    for (;;) {
      const rows = this.#byRun.all(run, position, pageSize) as unknown as BatchRow[];
      for (const row of rows) {
        yield* eventsOf(row, before);
        before = row.hash;
        position = row.first_seq;
      }
      if (rows.length < pageSize) return;
    }
  }

  /** All events with a greater sequence number than `seq`, of every run. */
  *after(seq: number): Generator<StoredEvent> {
    // A batch that straddles `seq` begins before it, but never more than a batch's length before.
    let position = seq - maximumBatch;
    for (;;) {
      const rows = this.#after.all(seq + 1, position, pageSize) as unknown as BatchRow[];
      for (const row of rows) {
        for (const event of eventsOf(row, this.hashBefore(row))) if (event.seq > seq) yield event;
        position = row.first_seq;
      }
      if (rows.length < pageSize) return;
    }
  }

  hashBefore(row: Pick<BatchRow, "run" | "first_seq">): string {
    const previous = this.#hashBefore.get(row.run, row.first_seq);
    return previous === undefined ? genesis(runIdOf(row.run)) : String(previous["hash"]);
  }
}

const pageSize = 200;

/** No batch holds more events, so that one delegation's history can be read in small pieces. */
export const maximumBatch = 32;
