import type { Statement } from "./database.ts";

type Value = string | number | null;

/**
 * The type of a column of long texts that are JSON. In an array each of their quotes would have to
 * be escaped; a control character cannot occur in JSON, and so can stand between them.
 */
export const jsonText = "json text";

const separatorCode = 31;
const separator = String.fromCharCode(separatorCode);

/**
 * Puts all rows of a transaction into one statement, so that they cost one way to the database and
 * back. Its parts do not see each other: no row may be written by two of them.
 */
export class WriteStatement {
  readonly #parts: string[] = [];
  readonly #names: string[] = [];
  /** What makes it the same statement, with other values. */
  readonly #kinds: string[] = [];
  readonly #values: unknown[] = [];

  get isEmpty(): boolean {
    return this.#parts.length === 0;
  }

  /** `sql` is given the rows as a table `v` of these columns; there is no part without rows. */
  add(
    name: string,
    columns: readonly (readonly [name: string, type: string])[],
    rows: readonly (readonly Value[])[],
    sql: (rows: string) => string,
  ): void {
    if (rows.length === 0) return;
    let joined = "";
    const arrays = columns.map(([, type], index) => {
      const values = rows.map((row) => row[index] ?? null);
      const text = type === jsonText ? join(values) : undefined;
      this.#values.push(text ?? values);
      const place = `$${this.#values.length}`;
      if (text === undefined) return `${place}::${type === jsonText ? "text" : type}[]`;
      joined += ` ${index}`;
      return `pg_catalog.string_to_array(${place}::text, pg_catalog.chr(${separatorCode}))`;
    });
    const names = columns.map(([column]) => column).join(", ");
    const table = `unnest(${arrays.join(", ")}) AS v(${names})`;
    this.#parts.push(`${name} AS (${sql(table)})`);
    this.#names.push(name);
    this.#kinds.push(`${name}${joined}`);
  }

  /** Gives the rows of the part that is named, if it is there. */
  build(showing: string): Statement {
    const shown = this.#names.includes(showing) ? `SELECT * FROM ${showing}` : "SELECT 1";
    return {
      name: nameFor(this.#kinds.join(", ")),
      text: `WITH ${this.#parts.join(",\n")}\n${shown}`,
      values: this.#values,
    };
  }
}

/** Undefined where the texts would not come apart again: then they are not what they should be. */
function join(values: readonly Value[]): string | undefined {
  const isFit = (value: Value): boolean =>
    typeof value === "string" && value !== "" && !value.includes(separator);
  return values.every(isFit) ? values.join(separator) : undefined;
}

/** Names of prepared statements are short; which parts there are says what the statement is. */
const names = new Map<string, string>();

function nameFor(parts: string): string {
  const known = names.get(parts);
  if (known !== undefined) return known;
  const name = `write-${names.size}`;
  names.set(parts, name);
  return name;
}
