import type { StoredEvent } from "../../events/event.ts";
import { genesis } from "../../events/hash-chain.ts";
import { runIdOf } from "../../ports/identity.ts";
import { type BatchRow, eventsOf, maximumBatch } from "../shared/event-batch.ts";
import type { Database, Row, Statement } from "./database.ts";

/** Reads batches, by run or from a sequence number on. */
export class BatchReader {
  readonly #database: Database;
  readonly #columns: string;

  constructor(database: Database) {
    const { quoted } = database.schema;
    this.#database = database;
    // Each batch comes with the hash of the event before it, so that it can be read alone.
    this.#columns = `b.first_seq, b.run, b.first_run_seq, b.count, b.hash, b.events,
      (SELECT p.hash FROM ${quoted}.event_batches p WHERE p.run = b.run AND p.first_seq < b.first_seq
       ORDER BY p.first_seq DESC LIMIT 1) AS before_hash FROM ${quoted}.event_batches b`;
  }

  /** A page of the log, from the batch on that holds the event after `seq`. */
  pageAfter(seq: number): Statement {
    return {
      name: "batches-after",
      // A batch that contains `seq` begins at most `maximumBatch` events before it.
      text: `SELECT ${this.#columns} WHERE b.first_seq > $1::bigint - ${maximumBatch}
               AND b.first_seq + b.count > $1::bigint + 1 ORDER BY b.first_seq LIMIT ${pageSize}`,
      values: [seq],
    };
  }

  /** All events after sequence number `seq`, of every run. */
  async *after(seq: number): AsyncGenerator<StoredEvent> {
    for (let position = seq; ; ) {
      const rows = await this.#database.query(this.pageAfter(position));
      yield* eventsIn(rows, position);
      if (rows.length < pageSize) return;
      position = lastSeqOf(rows);
    }
  }

  /** `types`: skips batches that contain none of these types. */
  async *ofRun(
    run: number,
    after = 0,
    types?: readonly StoredEvent["type"][],
  ): AsyncGenerator<StoredEvent> {
    for (let position = after - maximumBatch; ; ) {
      const rows = await this.#database.query(this.#pageOfRun(run, position, types));
      yield* eventsIn(rows, after);
      if (rows.length < pageSize) return;
      position = Number(rows.at(-1)?.["first_seq"]);
    }
  }

  /** The last event of a run, without reading the run. */
  async endOf(run: number): Promise<{ readonly lastRunSeq: number; readonly head: string }> {
    const [last] = await this.#database.query({
      name: "end-of-run",
      text: `SELECT first_run_seq, count, hash FROM ${this.#database.schema.quoted}.event_batches WHERE run = $1 ORDER BY first_seq DESC LIMIT 1`,
      values: [run],
    });
    if (last === undefined) return { lastRunSeq: 0, head: genesis(runIdOf(run)) };
    const lastRunSeq = Number(last["first_run_seq"]) + Number(last["count"]) - 1;
    return { lastRunSeq, head: String(last["hash"]) };
  }

  #pageOfRun(
    run: number,
    position: number,
    types: readonly StoredEvent["type"][] | undefined,
  ): Statement {
    if (types !== undefined) {
      return {
        name: "batches-of-run-with",
        // Each event begins with its type; quotation marks inside an event are escaped.
        text: `SELECT ${this.#columns} WHERE b.run = $1 AND b.first_seq > $2 AND b.events LIKE ANY ($3::text[])
                 ORDER BY b.first_seq LIMIT ${pageSize}`,
        values: [run, position, types.map((type) => `%["${type}",%`)],
      };
    }
    return {
      name: "batches-of-run",
      text: `SELECT ${this.#columns} WHERE b.run = $1 AND b.first_seq > $2 ORDER BY b.first_seq LIMIT ${pageSize}`,
      values: [run, position],
    };
  }
}

/** The events of a page after a sequence number. */
export function* eventsIn(rows: readonly Row[], after: number): Generator<StoredEvent> {
  for (const row of rows) {
    const batch = row as unknown as BatchRow;
    const before = row["before_hash"];
    const head = before === null ? genesis(runIdOf(batch.run)) : String(before);
    for (const event of eventsOf(batch, head)) if (event.seq > after) yield event;
  }
}

export function lastSeqOf(rows: readonly Row[]): number {
  const last = rows.at(-1) as unknown as BatchRow;
  return last.first_seq + last.count - 1;
}

export const pageSize = 200;
