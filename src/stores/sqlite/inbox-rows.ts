import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import type { InboxChange } from "../../events/inbox-change.ts";
import type { InboxItem } from "../../events/inbox-item.ts";
import { runNumberOf } from "../../ports/identity.ts";
import { type InboxQuery, mostInboxItems } from "../../ports/store.ts";
import { maximumBatch } from "../shared/event-batch.ts";
import { inboxItemOfRow, inboxValuesOf } from "../shared/stored-rows.ts";
import type { RunIndex } from "./batch-rows.ts";

/** The inbox as a table: written with the events that it is derived from, and read without them. */
export class InboxRows {
  readonly #database: DatabaseSync;
  readonly #index: RunIndex;
  readonly #insert: StatementSync;
  readonly #close: StatementSync;

  constructor(database: DatabaseSync, index: RunIndex) {
    this.#database = database;
    this.#index = index;
    // A row that has this number already can only be a forgery: the event counts.
    this.#insert = database.prepare(
      "INSERT OR REPLACE INTO inbox VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    );
    this.#close = database.prepare("UPDATE inbox SET is_open = 0 WHERE is_open = 1 AND ask_id = ?");
  }

  write({ closes, item }: InboxChange): void {
    if (closes !== undefined) this.#close.run(closes);
    if (item === undefined) return;
    this.#insert.run(...inboxValuesOf(item));
  }

  read(query: InboxQuery): readonly InboxItem[] {
    const isForwards = query.after !== undefined;
    const { conditions, values } = this.#conditionsOf(query);
    // Without this hint SQLite would scan in the requested order; few items are open.
    const rows = this.#database
      .prepare(
        `SELECT * FROM inbox ${query.openOnly ? "INDEXED BY inbox_open" : ""} WHERE ${conditions.join(" AND ")} ORDER BY seq ${isForwards ? "" : "DESC"} LIMIT ?`,
      )
      .all(...values, Math.min(query.limit, mostInboxItems))
      .map(inboxItemOfRow);
    return isForwards ? rows : rows.reverse();
  }

  readCursor(reader: string): number {
    const row = this.#database.prepare("SELECT seq FROM inbox_cursors WHERE reader = ?");
    return Number(row.get(reader)?.["seq"] ?? 0);
  }

  moveCursor(reader: string, to: number): number {
    const row = this.#database
      .prepare(
        `INSERT INTO inbox_cursors
         SELECT ?, max(0, min(?, (SELECT coalesce(max(seq), 0) FROM inbox))) WHERE true
         ON CONFLICT (reader) DO UPDATE SET seq = max(seq, excluded.seq) RETURNING seq`,
      )
      .get(reader, to);
    return Number(row?.["seq"]);
  }

  unreadCount(reader: string): number {
    const row = this.#database
      .prepare(
        `SELECT count(*) AS count FROM (SELECT 1 FROM inbox WHERE seq >
           coalesce((SELECT seq FROM inbox_cursors WHERE reader = ?), 0) LIMIT ?)`,
      )
      .get(reader, mostInboxItems);
    return Number(row?.["count"]);
  }

  #conditionsOf({ after, before, kinds, openOnly, runId }: InboxQuery): {
    readonly conditions: readonly string[];
    readonly values: readonly SQLInputValue[];
  } {
    const conditions = ["true"];
    const values: SQLInputValue[] = [];
    const where = (condition: string, ...given: readonly SQLInputValue[]): void => {
      conditions.push(condition);
      values.push(...given);
    };
    if (after !== undefined) where("seq > ?", after);
    if (before !== undefined) where("seq < ?", before);
    if (openOnly) where("is_open = 1");
    if (kinds) where(`kind IN (${kinds.map(() => "?").join(", ")})`, ...kinds);
    if (runId !== undefined) {
      const run = runNumberOf(runId) ?? -1;
      where("run = ?", run);
      for (const [condition, value] of this.#whereToLook(run)) where(condition, value);
    }
    return { conditions, values };
  }

  /**
   * Conditions that limit the search to the sequence numbers of a run. An index by run would touch
   * one more page for every item. The run index gives the bounds, and few events are not indexed
   * yet.
   */
  #whereToLook(run: number): readonly (readonly [condition: string, value: number])[] {
    const through = this.#index.indexedThrough();
    // One subquery for each bound: with both in one query SQLite reads everything between them.
    const bounds = this.#database
      .prepare(
        "SELECT (SELECT min(first_seq) FROM run_index WHERE run = ?) AS first, (SELECT max(first_seq) FROM run_index WHERE run = ?) AS last",
      )
      .get(run, run);
    if (bounds?.["first"] == null) return [["seq > ?", through]];
    const recent = this.#database
      .prepare("SELECT 1 FROM event_batches WHERE first_seq > ? AND run = ? LIMIT 1")
      .get(through, run);
    const from = ["seq >= ?", Number(bounds["first"])] as const;
    if (recent !== undefined) return [from];
    return [from, ["seq < ?", Number(bounds["last"]) + maximumBatch]];
  }
}
