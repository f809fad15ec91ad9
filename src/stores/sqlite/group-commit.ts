import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { NewEvent, StoredEvent } from "../../events/event.ts";
import type { Clock } from "../../ports/clock.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Append } from "../../ports/store.ts";
import {
  AppendQueue,
  appendToControlLog,
  KeptTexts,
  type Pending,
  settle,
} from "../shared/append-queue.ts";
import { TamperedContract } from "../shared/store-calls.ts";
import { type LogState, type RecordChanges, Transaction } from "../shared/transaction.ts";
import type { InboxRows } from "./inbox-rows.ts";
import { Projections, SettlementRows } from "./projections.ts";
import type { RecordRows } from "./record-rows.ts";
import type { ReserveFile } from "./reserve-file.ts";

export interface RunCache extends LogState {
  /** Reads what other processes wrote. Called when the wanted sequence number is taken. */
  catchUp(): void;
  lastSeq: number;
  committed(events: readonly StoredEvent[]): void;
  readonly reserve: ReserveFile;
}

/** Tables that are written with the events, and read separately. */
interface GroupRows {
  readonly records: RecordRows;
  readonly inbox: InboxRows;
}

/**
 * For so many turns of the event loop a transaction waits for more appends. An idle turn costs a
 * hundredth of a commit, and a thousandth of a synced commit. In memory a commit costs nothing.
 */
const turnsToWait = 2;

/**
 * Groups the appends of a few turns of the event loop into one transaction. A caller continues only
 * when its events are on disk, and many callers share the cost of writing them.
 */
export class GroupCommit {
  readonly texts = new KeptTexts();
  readonly #database: DatabaseSync;
  readonly #turnsToWait: number;
  readonly #cache: RunCache;
  readonly #clock: Clock;
  readonly #projections: Projections;
  readonly #settlements: SettlementRows;
  readonly #recordRows: RecordRows;
  readonly #inboxRows: InboxRows;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #insertBatch: StatementSync;
  readonly #insertText: StatementSync;
  readonly #queue = new AppendQueue();
  #scheduled: NodeJS.Immediate | undefined;

  constructor(database: DatabaseSync, cache: RunCache, rows: GroupRows, clock: Clock) {
    this.#database = database;
    this.#turnsToWait = database.location() === null ? 0 : turnsToWait;
    this.#cache = cache;
    this.#clock = clock;
    this.#projections = new Projections(database);
    this.#settlements = new SettlementRows(database);
    this.#recordRows = rows.records;
    this.#inboxRows = rows.inbox;
    this.#begin = database.prepare("BEGIN IMMEDIATE");
    this.#commit = database.prepare("COMMIT");
    this.#insertBatch = database.prepare("INSERT INTO event_batches VALUES (?, ?, ?, ?, ?, ?)");
    this.#insertText = database.prepare("INSERT OR IGNORE INTO texts VALUES (?, ?)");
  }

  append(append: Append, records?: RecordChanges): Promise<readonly StoredEvent[]> {
    const done = this.#queue.add(append, records);
    this.texts.noteAppend();
    if (this.#scheduled === undefined) this.#flushAfter(this.#turnsToWait);
    return done;
  }

  #flushAfter(turns: number): void {
    this.#scheduled = setImmediate(() => {
      if (turns === 0) this.flush();
      else this.#flushAfter(turns - 1);
    });
  }

  /** Returns the events of the changes, in the order of the changes. */
  changeRecords(records: RecordChanges): Promise<readonly StoredEvent[]> {
    return this.append(appendToControlLog, records);
  }

  /**
   * Runs a separate transaction. `decide` returns events for the control log while no other process
   * can write, and may write in the same transaction.
   */
  commitAlone(decide: () => readonly NewEvent[]): void {
    this.flushAll();
    let transaction: Transaction | undefined;
    try {
      this.#begin.run();
      this.#cache.catchUp();
      const events = decide();
      transaction = new Transaction(this.#cache, this.#recordRows, this.#clock.now());
      if (events.length > 0) transaction.stage({ ...appendToControlLog, events }, new Set());
      const [refusal] = transaction.outcomes;
      if (refusal instanceof Error) throw refusal;
      this.#write(transaction);
      this.#commit.run();
    } catch (error) {
      transaction?.undo();
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw storageError(error);
    }
    this.texts.noteWritten(this.texts.unwritten);
    this.#cache.lastSeq += transaction.events.length;
    this.#cache.committed(transaction.events);
  }

  /** Writes all queued appends, before the store closes. */
  flushAll(): void {
    while (!this.#queue.isEmpty) this.flush();
  }

  /** Writes the queued appends, up to the size of one transaction. */
  flush(): void {
    clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
    const pending = this.#queue.take();
    if (pending.length === 0) return;
    this.#cache.reserve.ensure();
    try {
      const transaction = this.#commitAll(pending);
      this.texts.noteWritten(this.texts.unwritten);
      this.#cache.lastSeq += transaction.events.length;
      settle(pending, transaction.outcomes);
      this.#cache.committed(transaction.events);
    } catch (error) {
      const reason = storageError(error);
      if (reason instanceof MandateError && reason.code === "storage-full")
        this.#cache.reserve.release();
      for (const one of pending) one.reject(reason);
    }
    this.texts.noteEnds(pending.length);
    if (!this.#queue.isEmpty && this.#scheduled === undefined) this.#flushAfter(0);
  }

  /**
   * Runs one transaction. The writes of other processes are read when they matter: when the wanted
   * sequence number is taken, and before an append is refused because of the state in memory. They
   * are read inside the transaction, while no other process can write, so once is enough.
   */
  #commitAll(pending: readonly Pending[]): Transaction {
    const tampered = new Set<string>();
    for (let isCurrent = false; ; isCurrent = true) {
      let transaction: Transaction | undefined;
      try {
        this.#begin.run();
        if (isCurrent) this.#cache.catchUp();
        transaction = this.#stage(pending, tampered);
        if (!isCurrent && transaction.hasRefusals) {
          transaction.undo();
          this.#cache.catchUp();
          transaction = this.#stage(pending, tampered);
        }
        this.#write(transaction);
        this.#commit.run();
        return transaction;
      } catch (error) {
        transaction?.undo();
        if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
        if (error instanceof TamperedContract) tampered.add(error.delegationId);
        else if (!isKeyConflict(error) || isCurrent) throw error;
      }
    }
  }

  #stage(pending: readonly Pending[], tampered: ReadonlySet<string>): Transaction {
    const transaction = new Transaction(this.#cache, this.#recordRows, this.#clock.now());
    for (const { append, records } of pending) {
      if (records === undefined) transaction.stage(append, tampered);
      else transaction.stageChanges(append, records);
    }
    return transaction;
  }

  #write(transaction: Transaction): void {
    for (const [hash, body] of this.texts.unwritten) this.#insertText.run(hash, body);
    for (const batch of transaction.batches) {
      const { firstSeq, run, firstRunSeq, texts, hash } = batch;
      // Concatenated and not joined: the whole text is then copied once.
      let events = "";
      for (const text of texts) events += events === "" ? `[${text}` : `,${text}`;
      events += "]";
      this.#insertBatch.run(firstSeq, run, firstRunSeq, texts.length, hash, events);
    }
    const roots = transaction.roots();
    for (const [run, isNew] of transaction.movedRuns) {
      this.#projections.writeRun(run, isNew, roots.get(run));
    }
    for (const [run, facts] of roots) {
      if (transaction.movedRuns.get(run) !== true) this.#projections.writeRoot(run, facts);
    }
    this.#projections.writeDelegations(transaction.movedDelegations);
    for (const [run, event] of transaction.asks) {
      if (event.type === "agent.asked") this.#projections.writeAsk(run, event);
      else this.#projections.answerAsk(event);
    }
    this.#settlements.write(transaction.settlements);
    for (const change of transaction.inbox) this.#inboxRows.write(change);
    for (const record of transaction.records.values()) this.#recordRows.write(record);
  }
}

function isKeyConflict(error: unknown): boolean {
  return sqliteCode(error) === 1555 || sqliteCode(error) === 2067;
}

function sqliteCode(error: unknown): number | undefined {
  const code = error instanceof Error ? (error as { errcode?: unknown }).errcode : undefined;
  return typeof code === "number" ? code : undefined;
}

const sqliteFull = 13;
const sqliteCorrupt = 11;
const sqliteNotADatabase = 26;

/** Whether the file is damaged as a whole, or is no longer a database. */
export function isNoDatabase(error: unknown): boolean {
  const code = (sqliteCode(error) ?? 0) & 0xff;
  return code === sqliteCorrupt || code === sqliteNotADatabase;
}

/** Changes the database in a transaction of its own, beside the queued appends. */
export async function changeNow<Result>(
  database: DatabaseSync,
  change: () => Result,
  before?: () => void,
): Promise<Result> {
  // A listener may be called in the middle of a transaction, which can still fail.
  await undefined;
  before?.();
  try {
    database.exec("BEGIN IMMEDIATE");
    const result = change();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw storageError(error);
  }
}

/** Translates an error of SQLite into a `MandateError`. */
function storageError(error: unknown): unknown {
  const code = sqliteCode(error);
  if (code === undefined) return error;
  const message = error instanceof Error ? error.message : String(error);
  return (code & 0xff) === sqliteFull
    ? new MandateError("storage-full", "The disk that holds the database is full.", {
        cause: error,
      })
    : new MandateError("database-unusable", `The database refused a write (${message}).`, {
        cause: error,
      });
}
