import type { DBOSClient } from "@dbos-inc/dbos-sdk";
import type { Pool } from "pg";
import type { QueuedWork } from "./dbos-dispatcher.ts";

type EnqueueOptions = Parameters<DBOSClient["enqueue"]>[0];

interface Waiting {
  readonly options: EnqueueOptions;
  readonly work: QueuedWork;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** So many rows are written in one transaction, at most. */
const mostAtOnce = 200;

/**
 * Puts work into queues, together what comes together: a caller that hands out five hundred tasks
 * pays for a few transactions and not for five hundred. Each is there when its promise resolves.
 */
export class EnqueueLine {
  readonly #client: DBOSClient;
  readonly #pool: Pool;
  #waiting: Waiting[] = [];
  #isWriting = false;

  constructor(client: DBOSClient, pool: Pool) {
    this.#client = client;
    this.#pool = pool;
    // A connection that breaks while nobody uses it is replaced by the next one.
    pool.on("error", () => undefined);
  }

  add(options: EnqueueOptions, work: QueuedWork): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ options, work, resolve, reject });
      if (this.#isWriting) return;
      this.#isWriting = true;
      setImmediate(() => void this.#writeAll());
    });
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const together = this.#waiting.splice(0, mostAtOnce);
      try {
        await this.#write(together);
        for (const { resolve } of together) resolve();
      } catch (error) {
        for (const { reject } of together) reject(error);
      }
    }
    this.#isWriting = false;
  }

  async #write(together: readonly Waiting[]): Promise<void> {
    const connection = await this.#pool.connect();
    let failed: Error | undefined;
    try {
      await connection.query("BEGIN");
      // The connection sends one after the other without waiting for answers.
      await Promise.all(
        together.map(({ options, work }) =>
          this.#client.enqueueInTransaction(connection, options, work),
        ),
      );
      await connection.query("COMMIT");
    } catch (error) {
      failed = error instanceof Error ? error : new Error(String(error));
      throw error;
    } finally {
      // One on which something failed may be in the middle of a transaction.
      connection.release(failed);
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}
