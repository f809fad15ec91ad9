import type { DatabaseSync, StatementSync } from "node:sqlite";

/** So many events may wait before they are indexed: reading them in order takes a millisecond. */
const indexEvery = 2000;

/**
 * Which batches belong to which run. An index that is kept up with every transaction costs a page
 * each time, which for small transactions is a quarter of the whole; this one is brought up to date
 * in bulk, and readers look through the short rest themselves.
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
      // Another process may have done it already.
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
      // An index is a convenience: without it reading is slower. Who holds the lock for long, or a
      // disk that is full, will not let go at once: it is tried again after as many events.
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      this.#indexed = lastSeq;
    }
  }
}
