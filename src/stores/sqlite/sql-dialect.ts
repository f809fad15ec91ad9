import type { DatabaseSync, SQLInputValue, SQLOutputValue } from "node:sqlite";
import type { Sql, SqlDialect } from "../shared/sql.ts";

/** SQLite, for the statements that both databases share. A list is passed as JSON. */
export const dialect: SqlDialect = {
  schema: "",
  isIn: (column) => `${column} IN (SELECT value FROM json_each(?))`,
  pairs: "SELECT value ->> 0 AS hash, value ->> 1 AS run FROM json_each(?)",
  greatest: "max",
  encode: (text) => text,
  decode: (row) => row,
};

type OutputRow = Record<string, SQLOutputValue>;

export function all(database: DatabaseSync, { text, values }: Sql): readonly OutputRow[] {
  return database.prepare(text).all(...values.map(inputOf));
}

/** Reads the rows one by one. */
export function each(database: DatabaseSync, { text, values }: Sql): Iterable<OutputRow> {
  return database.prepare(text).iterate(...values.map(inputOf));
}

function inputOf(value: Sql["values"][number]): SQLInputValue {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
}
