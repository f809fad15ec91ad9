import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Clock } from "../../ports/clock.ts";
import type {
  IdempotencyStore,
  KeptReply,
  KeyedRequest,
  KeyStanding,
  RequestKey,
} from "../../ports/store.ts";
import { keyStandingOf } from "../shared/stored-rows.ts";
import { changeNow } from "./group-commit.ts";
import { isWorkerAlive } from "./worker.ts";

export interface IdempotencyRowsOptions {
  readonly database: DatabaseSync;
  readonly clock: Clock;
  /** The worker that owns the requests begun here. */
  readonly worker: string;
  /** Throws when the store is closed. */
  readonly requireOpen: () => void;
}

type Row = Readonly<Record<string, unknown>>;

/** Keys of requests, as rows. */
export class IdempotencyRows implements IdempotencyStore {
  readonly #options: IdempotencyRowsOptions;
  readonly #read: StatementSync;
  readonly #old: StatementSync;
  readonly #insert: StatementSync;
  readonly #finish: StatementSync;
  readonly #delete: StatementSync;

  constructor(options: IdempotencyRowsOptions) {
    const { database } = options;
    this.#options = options;
    const isKey = "principal = ? AND key = ?";
    this.#read = database.prepare(`SELECT * FROM request_keys WHERE ${isKey}`);
    this.#old = database.prepare(
      "SELECT * FROM request_keys WHERE begun_at < ? ORDER BY begun_at LIMIT 200",
    );
    this.#insert = database.prepare(
      "INSERT INTO request_keys (principal, key, fingerprint, worker, begun_at) VALUES (?, ?, ?, ?, ?)",
    );
    // Only for the worker that began the request: a worker that was declared dead must not answer
    // for its successor.
    this.#finish = database.prepare(
      `UPDATE request_keys SET status = ?, reply = ? WHERE ${isKey} AND worker = ? AND status IS NULL`,
    );
    this.#delete = database.prepare(`DELETE FROM request_keys WHERE ${isKey}`);
  }

  async begin(request: KeyedRequest, forgetBefore: number): Promise<KeyStanding> {
    return this.#write(() => {
      // Forgetting a few with each request is enough to keep the table small.
      for (const old of this.#old.all(forgetBefore)) this.#forget(old);
      const found = this.#read.get(request.principal, request.key);
      const isOld = found !== undefined && Number(found["begun_at"]) < forgetBefore;
      const row = isOld && this.#forget(found) ? undefined : found;
      if (row !== undefined)
        return keyStandingOf(row, request.fingerprint, (worker) => isWorkerAlive(worker));
      const { clock, worker } = this.#options;
      const { principal, key, fingerprint } = request;
      this.#insert.run(principal, key, fingerprint, worker, clock.now());
      return { is: "begun" };
    });
  }

  async finish({ principal, key }: RequestKey, { status, body }: KeptReply): Promise<void> {
    await this.#write(() => {
      this.#finish.run(status, body, principal, key, this.#options.worker);
    });
  }

  async abandon({ principal, key }: RequestKey): Promise<void> {
    await this.#write(() => {
      const row = this.#read.get(principal, key);
      const isOurs = row?.["worker"] === this.#options.worker && row["status"] === null;
      if (isOurs) this.#delete.run(principal, key);
    });
  }

  /** Deletes a key unless its request is still in progress. */
  #forget(row: Row): boolean {
    if (row["status"] === null && isWorkerAlive(String(row["worker"]))) return false;
    this.#delete.run(String(row["principal"]), String(row["key"]));
    return true;
  }

  #write<Result>(change: () => Result): Promise<Result> {
    const { database, requireOpen } = this.#options;
    return changeNow(database, change, requireOpen);
  }
}
