import type { Client } from "pg";
import { isBroken } from "../../ports/database-fault.ts";
import { type Database, holdProcess, type Statement } from "./database.ts";

/**
 * The connection on which this process writes: one transaction after the other, in the order of the
 * calls. A connection that broke is replaced by the next who needs one.
 */
export class WriteLine {
  readonly #database: Database;
  #client: Client | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(database: Database) {
    this.#database = database;
  }

  /** Tried once. What `work` leaves open is rolled back. */
  run<Result>(work: (client: Client) => Promise<Result>): Promise<Result> {
    const result = this.#last.then(() => this.#run(work));
    this.#last = result.catch(() => undefined);
    return result;
  }

  async close(): Promise<void> {
    await this.#last;
    const client = this.#client;
    this.#client = undefined;
    if (client !== undefined) await this.#database.disconnect(client);
  }

  async #run<Result>(work: (client: Client) => Promise<Result>): Promise<Result> {
    this.#client ??= await this.#database.connect({ pipeline: true });
    const client = this.#client;
    holdProcess(client, true);
    try {
      return await work(client);
    } catch (error) {
      await this.#recover(client, error);
      throw error;
    } finally {
      // An idle store keeps no process alive.
      holdProcess(client, false);
    }
  }

  async #recover(client: Client, error: unknown): Promise<void> {
    try {
      if (isBroken(error)) throw error;
      // Without a transaction this does nothing.
      await client.query("ROLLBACK");
    } catch {
      this.#client = undefined;
      await this.#database.disconnect(client);
    }
  }
}

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
