import type { Client } from "pg";
import type { NewEvent, StoredEvent } from "../../events/event.ts";
import type { RunState } from "../../events/run-state.ts";
import type { Clock } from "../../ports/clock.ts";
import { isPassing } from "../../ports/database-fault.ts";
import { controlRunId } from "../../ports/identity.ts";
import type { Append } from "../../ports/store.ts";
import {
  AppendQueue,
  appendToControlLog,
  type KeptText,
  KeptTexts,
  type Pending,
  settle,
} from "../shared/append-queue.ts";
import { type RecordChanges, Transaction } from "../shared/transaction.ts";
import { AppendContext } from "./append-context.ts";
import type { BatchReader } from "./batch-rows.ts";
import { type Database, run, runAll } from "./database.ts";
import type { InboxRows } from "./inbox-rows.ts";
import {
  movedContracts,
  movedDelegationsPart,
  tamperedAmong,
  writeProjections,
} from "./projections.ts";
import { type RecordRows, standingsOf } from "./record-rows.ts";
import { retry } from "./retry.ts";
import type { RunCache } from "./run-cache.ts";
import { encodeText } from "./stored-text.ts";
import type { UsageRows } from "./usage-rows.ts";
import type { WorkerLease } from "./worker-lease.ts";
import { jsonText, type WriteLine, WriteStatement } from "./write-line.ts";

export interface CommitParts {
  readonly database: Database;
  readonly line: WriteLine;
  readonly reader: BatchReader;
  readonly cache: RunCache;
  readonly lease: WorkerLease;
  readonly records: RecordRows;
  readonly inbox: InboxRows;
  readonly usage: UsageRows;
  readonly clock: Clock;
}

/** A transaction that was sent when the connection broke: it may or may not be committed. */
interface UnconfirmedCommit {
  readonly transaction: Transaction;
  readonly firstSeq: number;
  readonly hash: string;
}

/** A group of appends that is being committed. */
interface Group {
  readonly pending: readonly Pending[];
  readonly tampered: Set<string>;
  /** The kept texts that were written with the appends. */
  texts: readonly KeptText[];
  unconfirmed: UnconfirmedCommit | undefined;
}

/**
 * Collects the appends that arrive during a transaction into the next one. All transactions of one
 * tenant hold one lock, in every process, and are visible to others before it is released. So
 * sequence numbers have no gaps, and a listener that has an event has all events before it.
 */
export class GroupCommit {
  readonly texts = new KeptTexts();
  readonly #parts: CommitParts;
  readonly #queue = new AppendQueue();
  #isFlushing = false;
  #last: Promise<unknown> = Promise.resolve();
  #committing = 0;

  constructor(parts: CommitParts) {
    this.#parts = parts;
  }

  append(
    append: Append,
    records?: RecordChanges,
    claimedFrom?: string,
  ): Promise<readonly StoredEvent[]> {
    const done = this.#queue.add(append, records, claimedFrom);
    this.texts.noteAppend();
    this.#last = done;
    if (!this.#isFlushing) void this.#flush();
    return done;
  }

  /** Returns the events of the changes, in the order of the changes. */
  changeRecords(records: RecordChanges): Promise<readonly StoredEvent[]> {
    return this.append(appendToControlLog, records);
  }

  /**
   * Runs a separate transaction. `decide` returns events for the control log while the lock is
   * held, and may write with the connection in the same transaction. May be retried.
   */
  async commitAlone(decide: (client: Client) => Promise<readonly NewEvent[]>): Promise<void> {
    const { cache, clock, database, line } = this.#parts;
    try {
      const { events } = await retry(
        clock,
        async () => {
          const states = new Map([[controlRunId, await cache.take(controlRunId)]]);
          return line.run(async (client) => {
            const context = await AppendContext.find(client, this.#parts, [], states);
            const decided = await decide(client);
            const transaction = new Transaction(context, standingsOf([]), clock.now());
            if (decided.length > 0) {
              transaction.stage({ ...appendToControlLog, events: decided }, new Set());
            }
            const statement = new WriteStatement();
            this.#write(statement, transaction, []);
            transaction.undo();
            const [refusal] = transaction.outcomes;
            if (refusal instanceof Error) throw refusal;
            if (!statement.isEmpty) await run(client, statement.build(""));
            const lastSeq = cache.lastSeq + transaction.events.length;
            const notices = decided.length > 0 ? this.#notice(context, lastSeq) : [];
            await runAll(client, [...notices, "COMMIT"]);
            return transaction;
          });
        },
        () => database.retryMs,
      );
      cache.receive(events);
    } catch (error) {
      throw database.explain(error);
    }
  }

  /** Resolves when all earlier appends are written or refused. */
  async settled(): Promise<void> {
    await this.#last.catch(() => undefined);
  }

  /** The last event of the current commit of this process, for which no notification is needed. */
  get committing(): number {
    return this.#committing;
  }

  async #flush(): Promise<void> {
    this.#isFlushing = true;
    // The appends of one turn of the event loop belong together.
    await new Promise((resolve) => setImmediate(resolve));
    while (!this.#queue.isEmpty) {
      const pending = this.#queue.take();
      await this.#commitTogether(pending);
      this.texts.noteEnds(pending.length);
    }
    // Set without an await after the last check, so that a later append starts a new flush.
    this.#isFlushing = false;
  }

  async #commitTogether(pending: readonly Pending[]): Promise<void> {
    const { cache, clock, database } = this.#parts;
    const group: Group = { pending, tampered: new Set(), texts: [], unconfirmed: undefined };
    try {
      const transaction = await retry(
        clock,
        () => this.#commitOnce(group),
        () => database.retryMs,
      );
      this.texts.noteWritten(group.texts);
      settle(pending, transaction.outcomes);
      cache.receive(transaction.events);
    } catch (error) {
      const isOwnFault = !isPassing(error) && pending.length > 1;
      // An append that the database refuses must not fail the other appends of the group.
      if (isOwnFault) for (const one of pending) await this.#commitTogether([one]);
      else for (const one of pending) one.reject(database.explain(error));
    } finally {
      this.#committing = 0;
    }
  }

  async #commitOnce(group: Group): Promise<Transaction> {
    const { cache, line } = this.#parts;
    // Long histories are read before the lock is taken; newer events are read while it is held.
    const states = new Map<string, RunState>();
    for (const { append } of group.pending) {
      if (append.events[0]?.type === "run.started" || states.has(append.runId)) continue;
      states.set(append.runId, await cache.take(append.runId));
    }
    return line.run(async (client) => {
      if (group.unconfirmed && (await this.#isCommitted(client, group.unconfirmed)))
        return group.unconfirmed.transaction;
      group.unconfirmed = undefined;
      for (;;) {
        const transaction = await this.#try(client, group, states);
        if (transaction !== undefined) return transaction;
      }
    });
  }

  /** Undefined when a contract was modified: then the group is staged again. */
  async #try(
    client: Client,
    group: Group,
    states: ReadonlyMap<string, RunState>,
  ): Promise<Transaction | undefined> {
    const { cache, clock } = this.#parts;
    const context = await AppendContext.find(client, this.#parts, group.pending, states);
    const changed = group.pending.flatMap(({ records }) => records?.changes ?? []);
    const { records } = this.#parts;
    const standings = changed.length > 0 ? await run(client, records.standings(changed)) : [];
    const transaction = new Transaction(context, standingsOf(standings), clock.now());
    const statement = new WriteStatement();
    // The group's events are staged, read and undone without an await: staging changes the cached
    // run states in place, and other code reads these. They change for good when the events are
    // committed, in this process as in every other.
    stageAll(transaction, group, context);
    // Read after all events were heard, because a pruning may require texts to be written again.
    group.texts = transaction.batches.length > 0 ? this.texts.unwritten : [];
    this.#write(statement, transaction, group.texts);
    const expected = movedContracts(transaction);
    transaction.undo();
    if (statement.isEmpty) {
      // The transaction writes nothing, except perhaps a renewed lease or a worker declared dead.
      await client.query("COMMIT");
      return transaction;
    }
    const first = transaction.batches[0];
    if (first) group.unconfirmed = { transaction, firstSeq: first.firstSeq, hash: first.hash };
    const lastSeq = cache.lastSeq + transaction.events.length;
    this.#committing = lastSeq;
    const writing = run(client, statement.build(movedDelegationsPart));
    // Without contracts to check, the commit is sent without waiting for the write: a commit after
    // a failed statement rolls back.
    const written = expected.size === 0 ? [] : await writing;
    const tampered = tamperedAmong(expected, written);
    if (tampered.length > 0) {
      group.unconfirmed = undefined;
      await client.query("ROLLBACK");
      for (const id of tampered) group.tampered.add(id);
      return undefined;
    }
    await Promise.all([writing, runAll(client, [...this.#notice(context, lastSeq), "COMMIT"])]);
    group.unconfirmed = undefined;
    return transaction;
  }

  #notice({ hasListeners }: AppendContext, lastSeq: number): readonly string[] {
    const { plain } = this.#parts.database.schema;
    return hasListeners ? [`SELECT pg_catalog.pg_notify('${plain}', '${lastSeq}')`] : [];
  }

  /** Asks while holding the lock: a commit that was in progress has finished by now. */
  async #isCommitted(client: Client, { firstSeq, hash }: UnconfirmedCommit): Promise<boolean> {
    const { lock, quoted } = this.#parts.database.schema;
    const [, , rows = []] = await runAll(client, [
      "BEGIN",
      `SELECT pg_catalog.pg_advisory_xact_lock(${lock})`,
      `SELECT hash FROM ${quoted}.event_batches WHERE first_seq = ${firstSeq}`,
      "COMMIT",
    ]);
    return rows[0]?.["hash"] === hash;
  }

  #write(statement: WriteStatement, transaction: Transaction, texts: readonly KeptText[]): void {
    const { database, inbox, records, usage } = this.#parts;
    const { quoted } = database.schema;
    if (transaction.batches.length === 0) return;
    statement.add(
      "batches",
      [
        ["first_seq", "bigint"],
        ["run", "bigint"],
        ["first_run_seq", "bigint"],
        ["count", "integer"],
        ["hash", "text"],
        ["events", jsonText],
      ],
      transaction.batches.map(({ firstRunSeq, firstSeq, hash, run: number, texts: events }) => [
        ...[firstSeq, number, firstRunSeq, events.length, hash, `[${events.join(",")}]`],
      ]),
      (rows) => `INSERT INTO ${quoted}.event_batches SELECT * FROM ${rows}`,
    );
    statement.add(
      "texts",
      [
        ["hash", "text"],
        ["body", "text"],
      ],
      texts.map(([hash, body]) => [hash, encodeText(body)]),
      (rows) => `INSERT INTO ${quoted}.texts SELECT * FROM ${rows} ON CONFLICT (hash) DO NOTHING`,
    );
    writeProjections(statement, quoted, transaction);
    usage.write(statement, transaction.settlements);
    inbox.write(statement, transaction.inbox);
    records.write(statement, transaction.records.values());
  }
}

function stageAll(
  transaction: Transaction,
  { pending, tampered }: Group,
  context: AppendContext,
): void {
  for (const one of pending) {
    const refusal = context.refusalOf(one);
    if (refusal !== undefined) transaction.refuse(refusal);
    else if (one.records === undefined) transaction.stage(one.append, tampered);
    else transaction.stageChanges(one.append, one.records);
  }
}
