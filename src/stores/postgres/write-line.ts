import type { Client } from "pg";
import { isBroken } from "../../ports/database-fault.ts";
import { type Database, holdProcess } from "./database.ts";

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
