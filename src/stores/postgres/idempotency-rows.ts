import { randomUUID } from "node:crypto";
import type { Clock } from "../../ports/clock.ts";
import type {
  IdempotencyStore,
  KeptReply,
  KeyedRequest,
  KeyStanding,
  RequestKey,
} from "../../ports/store.ts";
import { keyStandingOf } from "../shared/stored-rows.ts";
import type { Database } from "./database.ts";
import { decodeRow, encodeText } from "./stored-text.ts";
import type { WorkerLease } from "./worker-lease.ts";

/** Keys of requests, as rows. */
export class IdempotencyRows implements IdempotencyStore {
  readonly #database: Database;
  readonly #lease: WorkerLease;
  readonly #clock: Clock;
  readonly #keys: string;
  readonly #isAlive: string;

  constructor(database: Database, lease: WorkerLease, clock: Clock) {
    const { quoted } = database.schema;
    this.#database = database;
    this.#lease = lease;
    this.#clock = clock;
    this.#keys = `${quoted}.request_keys`;
    this.#isAlive = `EXISTS (SELECT 1 FROM ${quoted}.workers w WHERE w.id = k.worker AND w.expires_at > pg_catalog.clock_timestamp())`;
  }

  async begin(request: KeyedRequest, forgetBefore: number): Promise<KeyStanding> {
    const [principal, key] = keyOf(request);
    await this.#forget(request, forgetBefore);
    // Identifies this call, so that after a lost answer it recognizes its own row.
    const token = randomUUID();
    for (;;) {
      await this.#database.query({
        text: `INSERT INTO ${this.#keys} (principal, key, fingerprint, worker, begun_at, token)
               VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (principal, key) DO NOTHING`,
        values: [
          ...[principal, key, encodeText(request.fingerprint), this.#lease.worker],
          ...[this.#clock.now(), token],
        ],
      });
      const [row] = await this.#database.query({
        text: `SELECT k.*, ${this.#isAlive} AS is_alive FROM ${this.#keys} k WHERE principal = $1 AND key = $2`,
        values: [principal, key],
      });
      if (row?.["token"] === token) return { is: "begun" };
      // Released between the two statements: try again.
      if (row === undefined) continue;
      return keyStandingOf(decodeRow(row), request.fingerprint, () => row["is_alive"] === true);
    }
  }

  async finish(key: RequestKey, { body, status }: KeptReply): Promise<void> {
    // Only for the worker that began the request: a worker that was declared dead must not answer
    // for its successor.
    await this.#database.query({
      text: `UPDATE ${this.#keys} SET status = $3, reply = $4
             WHERE principal = $1 AND key = $2 AND worker = ANY($5) AND status IS NULL`,
      values: [...keyOf(key), status, encodeText(body), [...this.#lease.ours]],
    });
  }

  async abandon(key: RequestKey): Promise<void> {
    await this.#database.query({
      text: `DELETE FROM ${this.#keys} WHERE principal = $1 AND key = $2 AND worker = ANY($3) AND status IS NULL`,
      values: [...keyOf(key), [...this.#lease.ours]],
    });
  }

  /**
   * Forgets a few old keys with each request, which keeps the table small; none that is in
   * progress.
   */
  async #forget(request: RequestKey, before: number): Promise<void> {
    await this.#database.query({
      text: `DELETE FROM ${this.#keys} k WHERE k.begun_at < $1
               AND (k.status IS NOT NULL OR NOT ${this.#isAlive})
               AND ((k.principal = $2 AND k.key = $3) OR (k.principal, k.key) IN (
                 SELECT o.principal, o.key FROM ${this.#keys} o WHERE o.begun_at < $1 ORDER BY o.begun_at LIMIT 200))`,
      values: [Math.trunc(before), ...keyOf(request)],
    });
  }
}

function keyOf({ key, principal }: RequestKey): readonly [principal: string, key: string] {
  return [encodeText(principal), encodeText(key)];
}
