import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { StoredEvent } from "../../events/event.ts";
import { genesis } from "../../events/hash-chain.ts";
import { runIdOf } from "../../ports/identity.ts";
import { type BatchRow, eventsOf, maximumBatch, readRows } from "../shared/event-batch.ts";

interface RunEnd {
  /** Zero: no event of the run is stored. */
  readonly lastSeq: number;
  readonly lastRunSeq: number;
  readonly head: string;
}

/** Reads batches, by run or from a sequence number on. */
export class BatchReader {
  readonly #index: RunIndex;
  readonly #indexedOfRun: StatementSync;
  readonly #recentOfRun: StatementSync;
  readonly #after: StatementSync;
  readonly #lastIndexed: StatementSync;
  readonly #lastRecent: StatementSync;
  readonly #one: StatementSync;
  readonly #lastOfAll: StatementSync;
  readonly #places = new DelegationPlaces();

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
    this.#one = database.prepare("SELECT * FROM event_batches WHERE first_seq = ?");
    this.#lastOfAll = database.prepare(
      "SELECT * FROM event_batches ORDER BY first_seq DESC LIMIT 1",
    );
  }

  *ofRun(run: number): Generator<StoredEvent> {
    for (const events of this.batchedOfRun(run)) yield* events;
  }

  /** A run's events after sequence number `seq`, batch by batch. */
  *batchedOfRun(run: number, seq = 0): Generator<readonly StoredEvent[]> {
    let before: string | undefined;
    // A batch that contains `seq` begins at most `maximumBatch` events before it.
    for (const row of this.batchesOf(run, seq - maximumBatch)) {
      before ??= this.#headBefore(row);
      const isPast = row.first_seq + row.count <= seq + 1;
      if (!isPast) yield after(seq, eventsOf(row, before));
      before = row.hash;
    }
  }

  /** The batches of one delegation. An empty piece means that other batches were scanned. */
  *batchedOfDelegation(
    run: number,
    delegationId: string,
    seq = 0,
  ): Generator<readonly StoredEvent[]> {
    const places = yield* this.#places.lookThrough(run, (from) => this.#pageOf(run, from));
    let last: BatchRow | undefined;
    for (const firstSeq of places.of.get(delegationId) ?? []) {
      if (firstSeq <= seq - maximumBatch) continue;
      const row = this.#one.get(firstSeq) as BatchRow | undefined;
      // The run was pruned while it was read.
      if (row === undefined) return;
      const isNext = last !== undefined && last.first_run_seq + last.count === row.first_run_seq;
      const before = isNext && last ? last.hash : this.#headBefore(row);
      const events = after(seq, eventsOf(row, before));
      yield events.filter(({ sub_agent_id: id }) => id === delegationId);
      last = row;
    }
  }

  /** Drops what is cached about a run that was pruned. */
  forget(run: number): void {
    this.#places.forget(run);
  }

  *batchesOf(run: number, after = 0): Generator<BatchRow> {
    let position = after;
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

  /** All events after sequence number `seq`, of every run. */
  *after(seq: number): Generator<StoredEvent> {
    for (const [row, before] of this.batchesAfter(seq)) yield* after(seq, eventsOf(row, before));
  }

  /**
   * The batches after `seq`, each with the hash of the event before it. `headOf` returns the hash
   * of a run's n-th event if the run is in memory and has exactly that many events.
   */
  *batchesAfter(
    seq: number,
    headOf: (run: number, runSeq: number) => string | undefined = () => undefined,
  ): Generator<readonly [row: BatchRow, before: string]> {
    // A batch that contains `seq` begins at most `maximumBatch` events before it.
    let position = seq - maximumBatch;
    const heads = new Map<number, string>();
    for (;;) {
      const rows = this.#after.all(seq + 1, position, pageSize) as unknown as BatchRow[];
      for (const row of rows) {
        const known = heads.get(row.run) ?? headOf(row.run, row.first_run_seq - 1);
        const before = known ?? this.endOf(row.run, row.first_seq).head;
        heads.set(row.run, row.hash);
        yield [row, before];
        position = row.first_seq;
      }
      if (rows.length < pageSize) return;
    }
  }

  #pageOf(run: number, after: number): readonly BatchRow[] {
    const indexed = this.#indexedOfRun.all(run, after, smallPage) as unknown as BatchRow[];
    if (indexed.length > 0) return indexed;
    const recent = Math.max(after, this.#index.indexedThrough());
    return this.#recentOfRun.all(recent, run, smallPage) as unknown as BatchRow[];
  }

  #headBefore({ first_run_seq: runSeq, first_seq: seq, run }: BatchRow): string {
    return runSeq === 1 ? genesis(runIdOf(run)) : this.endOf(run, seq).head;
  }

  /** The sequence number of the last event; zero: the log is empty. */
  lastSeq(): number {
    const [last] = this.#lastOfAll.all() as unknown as BatchRow[];
    return last === undefined ? 0 : last.first_seq + last.count - 1;
  }

  /** The last event of a run before a sequence number, without reading the run. */
  endOf(run: number, beforeSeq: number): RunEnd {
    const last = (this.#lastRecent.get(this.#index.indexedThrough(), beforeSeq, run) ??
      this.#lastIndexed.get(run, beforeSeq)) as BatchRow | undefined;
    if (last === undefined) return { lastSeq: 0, lastRunSeq: 0, head: genesis(runIdOf(run)) };
    return {
      lastSeq: last.first_seq + last.count - 1,
      lastRunSeq: last.first_run_seq + last.count - 1,
      head: last.hash,
    };
  }
}

function after(seq: number, events: readonly StoredEvent[]): readonly StoredEvent[] {
  const [first] = events;
  return first === undefined || first.seq > seq
    ? events
    : events.filter((event) => event.seq > seq);
}

const pageSize = 200;
const smallPage = 50;

/** The batches of one run that were scanned so far. */
interface RunPlaces {
  through: number;
  /** For each delegation, the first sequence numbers of the batches that mention it, in order. */
  readonly of: Map<string, number[]>;
  count: number;
}

/** The most places in the index. Each is one number, so the index takes a few megabytes. */
const mostPlaces = 500_000;
/** For small runs, the number of runs matters more than the number of places. */
const mostRuns = 32;

/**
 * Which batches of a run mention which delegation. An index on disk would slow down every
 * transaction for a rare query, so this one is built on request, kept for the runs that were
 * queried last, and extended when they grow.
 */
class DelegationPlaces {
  readonly #runs = new Map<number, RunPlaces>();
  #count = 0;

  /**
   * Scans the batches that were added since the last call. Yields an empty piece after each page,
   * so that other work gets a turn. Several readers may scan one run at the same time: each
   * continues where the others are. The cache may drop the result; the reader keeps it.
   */
  *lookThrough(
    run: number,
    pageAfter: (firstSeq: number) => readonly BatchRow[],
  ): Generator<readonly never[], RunPlaces> {
    const places = this.#placesOf(run);
    for (;;) {
      const page = pageAfter(places.through);
      if (page.length === 0) return places;
      for (const row of page) this.#note(places, row);
      yield [];
    }
  }

  forget(run: number): void {
    this.#count -= this.#runs.get(run)?.count ?? 0;
    this.#runs.delete(run);
  }

  #placesOf(run: number): RunPlaces {
    const known = this.#runs.get(run) ?? { through: 0, of: new Map(), count: 0 };
    // The run that was queried last is dropped last.
    this.#runs.delete(run);
    this.#runs.set(run, known);
    for (const oldest of this.#runs.keys()) {
      const isEnough = this.#count <= mostPlaces && this.#runs.size <= mostRuns;
      if (isEnough || oldest === run) break;
      this.forget(oldest);
    }
    return known;
  }

  #note(places: RunPlaces, row: BatchRow): void {
    const { first_seq: firstSeq, run } = row;
    const isKept = this.#runs.get(run) === places;
    for (const [, id] of readRows(row, runIdOf(run))) {
      if (id === null) continue;
      const known = places.of.get(id);
      if (known === undefined) places.of.set(id, [firstSeq]);
      else if (known.at(-1) !== firstSeq) known.push(firstSeq);
      else continue;
      places.count += 1;
      if (isKept) this.#count += 1;
    }
    places.through = firstSeq;
  }
}

/** How many events may wait before they are indexed: scanning them takes a millisecond. */
const indexEvery = 2000;

/**
 * Which batches belong to which run. Updating an index in every transaction costs a page each time,
 * a quarter of the cost of a small transaction. This index is updated in bulk, and readers scan the
 * short rest themselves.
 */
export class RunIndex {
  readonly #database: DatabaseSync;
  readonly #through: StatementSync;
  #indexed: number;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#through = database.prepare("SELECT value FROM meta WHERE key = 'indexed_seq'");
    this.#indexed = this.indexedThrough();
  }

  /** Every batch that begins at or before this is in the index. */
  indexedThrough(): number {
    return Number(this.#through.get()?.["value"] ?? 0);
  }

  /** Called after a commit; nearly always there is nothing to do. */
  keepUp(lastSeq: number): void {
    if (lastSeq - this.#indexed < indexEvery || this.#database.isTransaction) return;
    try {
      this.#database.exec("BEGIN IMMEDIATE");
      // Another process may have updated the index already.
      const from = this.indexedThrough();
      this.#database
        .prepare(
          "INSERT OR IGNORE INTO run_index SELECT run, first_seq FROM event_batches WHERE first_seq > ? AND first_seq <= ?",
        )
        .run(from, lastSeq);
      this.#database
        .prepare(
          "INSERT INTO meta VALUES ('indexed_seq', ?) ON CONFLICT (key) DO UPDATE SET value = max(value, excluded.value)",
        )
        .run(lastSeq);
      this.#database.exec("COMMIT");
      this.#indexed = Math.max(from, lastSeq);
    } catch {
      // Without the index reading is slower, nothing else. After a failure (a long lock, a full
      // disk) it is tried again after as many events.
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      this.#indexed = lastSeq;
    }
  }
}
