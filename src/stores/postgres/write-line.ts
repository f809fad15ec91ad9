import type { Client } from "pg";
import { isBroken } from "../../ports/database-fault.ts";
import { type Database, keepProcessRunning, letProcessEnd, type Statement } from "./database.ts";

/**
 * The connection on which this process writes: one transaction at a time, in the order of the
 * calls. A broken connection is replaced by the next call.
 */
export class WriteLine {
  readonly #database: Database;
  #client: Client | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(database: Database) {
    this.#database = database;
  }

  /** Tries once. Rolls back a transaction that `work` leaves open. */
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
    keepProcessRunning(client);
    try {
      return await work(client);
    } catch (error) {
      await this.#recover(client, error);
      throw error;
    } finally {
      // An idle store does not keep the process running.
      letProcessEnd(client);
    }
  }

  async #recover(client: Client, error: unknown): Promise<void> {
    try {
      if (isBroken(error)) throw error;
      // Does nothing if no transaction is open.
      await client.query("ROLLBACK");
    } catch {
      this.#client = undefined;
      await this.#database.disconnect(client);
    }
  }
}

type Value = string | number | null;

/**
 * The column type for long JSON texts. In an array literal each of their quotation marks would be
 * escaped, so they are joined with a control character, which JSON cannot contain.
 */
export const jsonText = "json text";

const separatorCode = 31;
const separator = String.fromCharCode(separatorCode);

/**
 * Combines all rows of a transaction into one statement, so that they cost one round trip. The
 * parts do not see each other: no row may be written by two of them.
 */
export class WriteStatement {
  readonly #parts: string[] = [];
  readonly #names: string[] = [];
  /** The kinds of the parts, which identify the statement apart from its values. */
  readonly #kinds: string[] = [];
  readonly #values: unknown[] = [];

  get isEmpty(): boolean {
    return this.#parts.length === 0;
  }

  /**
   * Adds a part. `sql` gets the rows as a table `v` of these columns. Without rows no part is
   * added.
   */
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

  /** Builds a statement that returns the rows of the named part, if there is one. */
  build(showing: string): Statement {
    const shown = this.#names.includes(showing) ? `SELECT * FROM ${showing}` : "SELECT 1";
    return {
      name: nameFor(this.#kinds.join(", ")),
      text: `WITH ${this.#parts.join(",\n")}\n${shown}`,
      values: this.#values,
    };
  }
}

/** Undefined if the texts could not be split again: then they are not JSON. */
function join(values: readonly Value[]): string | undefined {
  const isFit = (value: Value): boolean =>
    typeof value === "string" && value !== "" && !value.includes(separator);
  return values.every(isFit) ? values.join(separator) : undefined;
}

/** Short names for prepared statements, by the parts that they have. */
const names = new Map<string, string>();

function nameFor(parts: string): string {
  const known = names.get(parts);
  if (known !== undefined) return known;
  const name = `write-${names.size}`;
  names.set(parts, name);
  return name;
}
