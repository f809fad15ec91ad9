import type { Client } from "pg";
import type { NewEvent, StoredEvent } from "../../events/event.ts";
import type { RunState } from "../../events/run-state.ts";
import type { Clock } from "../../ports/clock.ts";
import { isPassing } from "../../ports/database-fault.ts";
import { controlRunId } from "../../ports/identity.ts";
import type { Append } from "../../ports/store.ts";
import { AppendQueue, appendToControlLog, type Pending, settle } from "../shared/append-queue.ts";
import { type KeptText, KeptTexts } from "../shared/kept-texts.ts";
import { type RecordChanges, Transaction } from "../shared/transaction.ts";
import { AppendGround } from "./append-ground.ts";
import type { BatchReader } from "./batch-rows.ts";
import { type Database, run, runAll } from "./database.ts";
import type { InboxRows } from "./inbox-rows.ts";
import { persist } from "./persist.ts";
import {
  movedContracts,
  movedDelegationsPart,
  tamperedAmong,
  writeProjections,
} from "./projections.ts";
import { type RecordRows, standingsOf } from "./record-rows.ts";
import type { RunCache } from "./run-cache.ts";
import { encodeText } from "./stored-text.ts";
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
  readonly clock: Clock;
}

/** What was sent to be committed when the connection broke: it is there, or it is not. */
interface Doubt {
  readonly transaction: Transaction;
  readonly firstSeq: number;
  readonly hash: string;
}

/** One group of appends on its way. */
interface Group {
  readonly pending: readonly Pending[];
  readonly tampered: Set<string>;
  /** What was written beside the appends, by their hashes. */
  texts: readonly KeptText[];
  doubt: Doubt | undefined;
}

/**
 * Gathers all appends that wait while a transaction is under way into the next one. Transactions of
 * one tenant hold one lock, whichever process they come from, and are seen by others before it is
 * let go: so sequence numbers have no gaps, and a listener that has one event has all before it.
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

  /** The events of the changes, in their order. */
  changeRecords(records: RecordChanges): Promise<readonly StoredEvent[]> {
    return this.append(appendToControlLog, records);
  }

  /**
   * A transaction of its own, whose events for the control log are decided under the lock; what
   * `decide` does with the connection is done with them, or neither is. May be tried again.
   */
  async commitAlone(decide: (client: Client) => Promise<readonly NewEvent[]>): Promise<void> {
    const { cache, clock, database, line } = this.#parts;
    try {
      const { events } = await persist(
        clock,
        async () => {
          const states = new Map([[controlRunId, await cache.take(controlRunId)]]);
          return line.run(async (client) => {
            const ground = await AppendGround.find(client, this.#parts, [], states);
            const decided = await decide(client);
            const transaction = new Transaction(ground, standingsOf([]), clock.now());
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
            const notices = decided.length > 0 ? this.#notice(ground, lastSeq) : [];
            await runAll(client, [...notices, "COMMIT"]);
            return transaction;
          });
        },
        () => database.patienceMs,
      );
      cache.hear(events);
    } catch (error) {
      throw database.explain(error);
    }
  }

  /** Resolves when everything that was appended before is written, or refused. */
  async settled(): Promise<void> {
    await this.#last.catch(() => undefined);
  }

  /** The last event that this process is just committing: no notification for it is needed. */
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
    // In the same breath as the last look: what is added from here on starts a new batch.
    this.#isFlushing = false;
  }

  async #commitTogether(pending: readonly Pending[]): Promise<void> {
    const { cache, clock, database } = this.#parts;
    const group: Group = { pending, tampered: new Set(), texts: [], doubt: undefined };
    try {
      const transaction = await persist(
        clock,
        () => this.#commitOnce(group),
        () => database.patienceMs,
      );
      this.texts.noteWritten(group.texts);
      settle(pending, transaction.outcomes);
      cache.hear(transaction.events);
    } catch (error) {
      const isOwnFault = !isPassing(error) && pending.length > 1;
      // One that the database cannot take must not take the others with it.
      if (isOwnFault) for (const one of pending) await this.#commitTogether([one]);
      else for (const one of pending) one.reject(database.explain(error));
    } finally {
      this.#committing = 0;
    }
  }

  async #commitOnce(group: Group): Promise<Transaction> {
    const { cache, line } = this.#parts;
    // Long histories are read before the lock is taken; what is added during the read is heard under it.
    const states = new Map<string, RunState>();
    for (const { append } of group.pending) {
      if (append.events[0]?.type === "run.started" || states.has(append.runId)) continue;
      states.set(append.runId, await cache.take(append.runId));
    }
    return line.run(async (client) => {
      if (group.doubt && (await this.#isThere(client, group.doubt))) return group.doubt.transaction;
      group.doubt = undefined;
      for (;;) {
        const transaction = await this.#try(client, group, states);
        if (transaction !== undefined) return transaction;
      }
    });
  }

  /** Undefined when a contract turned out to be changed: then it is judged again. */
  async #try(
    client: Client,
    group: Group,
    states: ReadonlyMap<string, RunState>,
  ): Promise<Transaction | undefined> {
    const { cache, clock } = this.#parts;
    const ground = await AppendGround.find(client, this.#parts, group.pending, states);
    const changed = group.pending.flatMap(({ records }) => records?.changes ?? []);
    const { records } = this.#parts;
    const standings = changed.length > 0 ? await run(client, records.standings(changed)) : [];
    const transaction = new Transaction(ground, standingsOf(standings), clock.now());
    const statement = new WriteStatement();
    // Judged, read off and taken back in one breath: the states are live, and others look at them.
    // They move when the events are committed, by those who write and by all others alike.
    stageAll(transaction, group, ground);
    // Now that everything was heard: a pruning may have us keep texts once more.
    group.texts = transaction.batches.length > 0 ? this.texts.unwritten : [];
    this.#write(statement, transaction, group.texts);
    const expected = movedContracts(transaction);
    transaction.undo();
    if (statement.isEmpty) {
      // Nothing to write but perhaps a lease to renew, or a death to declare.
      await client.query("COMMIT");
      return transaction;
    }
    const first = transaction.batches[0];
    if (first) group.doubt = { transaction, firstSeq: first.firstSeq, hash: first.hash };
    const lastSeq = cache.lastSeq + transaction.events.length;
    this.#committing = lastSeq;
    const writing = run(client, statement.build(movedDelegationsPart));
    // Where no contract has to be looked at first, nothing waits between writing and committing:
    // after a statement that failed, a commit takes everything back.
    const written = expected.size === 0 ? [] : await writing;
    const tampered = tamperedAmong(expected, written);
    if (tampered.length > 0) {
      group.doubt = undefined;
      await client.query("ROLLBACK");
      for (const id of tampered) group.tampered.add(id);
      return undefined;
    }
    await Promise.all([writing, runAll(client, [...this.#notice(ground, lastSeq), "COMMIT"])]);
    group.doubt = undefined;
    return transaction;
  }

  #notice({ hasListeners }: AppendGround, lastSeq: number): readonly string[] {
    const { plain } = this.#parts.database.schema;
    return hasListeners ? [`SELECT pg_catalog.pg_notify('${plain}', '${lastSeq}')`] : [];
  }

  /** Asked under the lock: a commit that was under way then has ended by now. */
  async #isThere(client: Client, { firstSeq, hash }: Doubt): Promise<boolean> {
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
    const { database, inbox, records } = this.#parts;
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
    inbox.write(statement, transaction.inbox);
    records.write(statement, transaction.records.values());
  }
}

function stageAll(
  transaction: Transaction,
  { pending, tampered }: Group,
  ground: AppendGround,
): void {
  for (const one of pending) {
    const refusal = ground.refusalOf(one);
    if (refusal !== undefined) transaction.refuse(refusal);
    else if (one.records === undefined) transaction.stage(one.append, tampered);
    else transaction.stageChanges(one.append, one.records);
  }
}
