import type { InboxChange } from "../../events/inbox-change.ts";
import type { InboxItem } from "../../events/inbox-item.ts";
import { runNumberOf } from "../../ports/identity.ts";
import { type InboxQuery, mostInboxItems } from "../../ports/store.ts";
import { inboxItemOfRow, inboxValuesOf } from "../shared/stored-rows.ts";
import type { Database } from "./database.ts";
import { decodeRow, encodeText } from "./stored-text.ts";
import type { WriteStatement } from "./write-line.ts";

const columns = [
  ["seq", "bigint"],
  ["run", "bigint"],
  ["sub_agent_id", "text"],
  ["at", "bigint"],
  ["kind", "text"],
  ["severity", "text"],
  ["title", "text"],
  ["text", "text"],
  ["ask_id", "text"],
  ["deadline_at", "bigint"],
  ["ask_default", "text"],
  ["is_open", "integer"],
] as const;

/** The inbox as a table: written with the events that it is derived from, and read without them. */
export class InboxRows {
  readonly #database: Database;
  readonly #schema: string;

  constructor(database: Database) {
    this.#database = database;
    this.#schema = database.schema.quoted;
  }

  write(statement: WriteStatement, changes: readonly InboxChange[]): void {
    const items: InboxItem[] = [];
    const closed: string[] = [];
    for (const { closes, item } of changes) {
      if (closes !== undefined) {
        closed.push(closes);
        // An item that is opened and closed in one transaction is written as closed.
        for (const [index, one] of items.entries()) {
          if (one.ask?.id === closes && one.isOpen) items[index] = { ...one, isOpen: false };
        }
      }
      if (item !== undefined) items.push(item);
    }
    statement.add(
      "closed_asks",
      [["ask_id", "text"]],
      closed.map((id) => [encodeText(id)]),
      (rows) =>
        `UPDATE ${this.#schema}.inbox i SET is_open = 0 FROM ${rows} WHERE i.is_open = 1 AND i.ask_id = v.ask_id`,
    );
    const names = columns.map(([name]) => name);
    // A row that has this number already can only be a forgery: the event counts.
    statement.add(
      "new_items",
      columns,
      items.map((item) => inboxValuesOf(item).map(encodeValue)),
      (rows) =>
        `INSERT INTO ${this.#schema}.inbox (${names.join(", ")}) SELECT * FROM ${rows}
         ON CONFLICT (seq) DO UPDATE SET ${names.map((name) => `${name} = excluded.${name}`).join(", ")}`,
    );
  }

  async read({ after, before, kinds, limit, openOnly, runId }: InboxQuery) {
    const conditions = ["true"];
    const values: unknown[] = [];
    const where = (condition: (value: string) => string, given: unknown): void => {
      values.push(given);
      conditions.push(condition(`$${values.length}`));
    };
    if (after !== undefined) where((value) => `seq > ${value}`, after);
    if (before !== undefined) where((value) => `seq < ${value}`, before);
    if (openOnly) conditions.push("is_open = 1");
    if (kinds) where((value) => `kind = ANY(${value})`, kinds);
    if (runId !== undefined) where((value) => `run = ${value}`, runNumberOf(runId) ?? -1);
    const isForwards = after !== undefined;
    values.push(Math.min(limit, mostInboxItems));
    const rows = await this.#database.query({
      text: `SELECT * FROM ${this.#schema}.inbox WHERE ${conditions.join(" AND ")} ORDER BY seq ${isForwards ? "" : "DESC"} LIMIT $${values.length}`,
      values,
    });
    const items = rows.map((row) => inboxItemOfRow(decodeRow(row)));
    return isForwards ? items : items.reverse();
  }

  async readCursor(reader: string): Promise<number> {
    const [row] = await this.#database.query({
      text: `SELECT seq FROM ${this.#schema}.inbox_cursors WHERE reader = $1`,
      values: [encodeText(reader)],
    });
    return Number(row?.["seq"] ?? 0);
  }

  async moveCursor(reader: string, to: number): Promise<number> {
    const [row] = await this.#database.query({
      text: `INSERT INTO ${this.#schema}.inbox_cursors AS c
             SELECT $1, greatest(0, least($2::bigint, (SELECT coalesce(max(seq), 0) FROM ${this.#schema}.inbox)))
             ON CONFLICT (reader) DO UPDATE SET seq = greatest(c.seq, excluded.seq) RETURNING seq`,
      values: [encodeText(reader), Math.trunc(to)],
    });
    return Number(row?.["seq"]);
  }

  async unreadCount(reader: string): Promise<number> {
    const [row] = await this.#database.query({
      text: `SELECT count(*) AS count FROM (SELECT 1 FROM ${this.#schema}.inbox WHERE seq >
               coalesce((SELECT seq FROM ${this.#schema}.inbox_cursors WHERE reader = $1), 0) LIMIT $2) unread`,
      values: [encodeText(reader), mostInboxItems],
    });
    return Number(row?.["count"]);
  }
}

function encodeValue(value: string | number | null): string | number | null {
  return typeof value === "string" ? encodeText(value) : value;
}
