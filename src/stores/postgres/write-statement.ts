import type { Statement } from "./database.ts";

type Value = string | number | null;

/**
 * Puts all rows of a transaction into one statement, so that they cost one way to the database and
 * back. Its parts do not see each other: no row may be written by two of them.
 */
export class WriteStatement {
  readonly #parts: string[] = [];
  readonly #names: string[] = [];
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
    const arrays = columns.map(([, type], index) => {
      this.#values.push(rows.map((row) => row[index] ?? null));
      return `$${this.#values.length}::${type}[]`;
    });
    const names = columns.map(([column]) => column).join(", ");
    const table = `unnest(${arrays.join(", ")}) AS v(${names})`;
    this.#parts.push(`${name} AS (${sql(table)})`);
    this.#names.push(name);
  }

  /** Gives the rows of the part that is named, if it is there. */
  build(showing: string): Statement {
    const shown = this.#names.includes(showing) ? `SELECT * FROM ${showing}` : "SELECT 1";
    return {
      name: nameFor(this.#names.join(" ")),
      text: `WITH ${this.#parts.join(",\n")}\n${shown}`,
      values: this.#values,
    };
  }
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
