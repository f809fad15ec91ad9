import type { Sql, SqlDialect } from "../shared/sql.ts";
import type { Database, Statement } from "./database.ts";
import { decodeRow, encodeText } from "./stored-text.ts";

/** Postgres, for the statements that both databases share. */
export function dialectOf({ schema }: Database): SqlDialect {
  return {
    schema: `${schema.quoted}.`,
    isIn: (column) => `${column} = ANY(?)`,
    pairs: `SELECT value ->> 0 AS hash, (value ->> 1)::bigint AS run
            FROM pg_catalog.json_array_elements(?::json)`,
    greatest: "greatest",
    encode: encodeText,
    decode: decodeRow,
  };
}

/** Postgres numbers the values of a statement. */
export function statementOf({ text, values }: Sql): Statement {
  let number = 0;
  return { text: text.replaceAll("?", () => `$${++number}`), values };
}
