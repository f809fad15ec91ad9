/**
 * The store in a Postgres schema, for many machines. Events are written by `group-commit.ts`, and
 * tables are written in the same transaction. What both databases do alike is in `../shared`. Stores
 * may import ports, events, contracts and workspaces/processes.
 */
import type { Contract } from "../../contracts/contract.ts";
import type { StoredEvent } from "../../events/event.ts";
import type { InboxItem } from "../../events/inbox-item.ts";
import { prepareRecordChanges } from "../../events/record-change.ts";
import { isPaused, type RunState } from "../../events/run-state.ts";
import { type Clock, systemClock, type Timer } from "../../ports/clock.ts";
import {
  askIdOf,
  controlRunId,
  hexOf,
  numberOf,
  runIdOf,
  runNumberOf,
} from "../../ports/identity.ts";
import type { Inspection } from "../../ports/inspection.ts";
import type { Log } from "../../ports/log.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { MemoryStore } from "../../ports/memory-store.ts";
import { parseJson } from "../../ports/parse-json.ts";
import type { ControlRecord, RecordChange } from "../../ports/record-store.ts";
import type {
  Append,
  ArtifactStore,
  EventQuery,
  IdempotencyStore,
  InboxQuery,
  Ownership,
  PruneReport,
  PruneRequest,
  RunQuery,
  RunRow,
  Store,
} from "../../ports/store.ts";
import type { WorkerRow } from "../../ports/workers.ts";
import { RecentValues } from "../shared/append-queue.ts";
import { claimerOf } from "../shared/memory-tables.ts";
import { pruneRuns } from "../shared/prune-runs.ts";
import {
  changedRecords,
  closed,
  commandNote,
  readStoredContract,
  refuseAppend,
} from "../shared/store-calls.ts";
import { runConditions, runPlaceOf, runRowOf } from "../shared/stored-rows.ts";
import { ArtifactRows } from "./artifact-rows.ts";
import { BatchReader } from "./batch-rows.ts";
import type { Database } from "./database.ts";
import { GroupCommit } from "./group-commit.ts";
import { IdBlocks } from "./id-blocks.ts";
import { IdempotencyRows } from "./idempotency-rows.ts";
import { InboxRows } from "./inbox-rows.ts";
import { LiveTextChannel } from "./live-text.ts";
import { inspectDatabase, prunedTables } from "./maintenance.ts";
import { openMemories } from "./memory-rows.ts";
import { openDatabase } from "./open-database.ts";
import { RecordRows } from "./record-rows.ts";
import { RunCache } from "./run-cache.ts";
import { decodeRow, encodeText } from "./stored-text.ts";
import { UsageRows } from "./usage-rows.ts";
import { Watch } from "./watch.ts";
import { ExecutorRows, WorkerLease } from "./worker-lease.ts";
import { WriteLine } from "./write-line.ts";

export interface PostgresStoreOptions {
  readonly url: string;
  /** The tenant, whose rows are in a schema of their own. */
  readonly tenant?: string;
  readonly clock?: Clock;
  /** How often to read what others wrote, in addition to notifications. */
  readonly pollMs?: number;
  /** A worker that sends no heartbeat for so long may be declared dead. */
  readonly leaseMs?: number;
  readonly poolSize?: number;
  /** The artifact store; absent: a table of the database. */
  readonly artifacts?: ArtifactStore;
  /** How long to wait at the start for a server that does not answer; absent: not at all. */
  readonly waitMs?: number | undefined;
  /** Gets what an operator wants to know: a lost lease, an unreachable database. */
  readonly log?: Log | undefined;
}

/** How long closing may take when the database does not answer. */
const closingRetryMs = 5_000;

/** Events of other processes may be read so much later, so that many are read at once. */
const batchNotificationsMs = 5;

interface Start {
  readonly database: Database;
  readonly lease: WorkerLease;
  readonly ids: IdBlocks;
  readonly lastSeq: number;
  readonly isLimited: boolean;
}

export class PostgresStore implements Store {
  readonly idempotency: IdempotencyStore;
  readonly memories: MemoryStore;
  readonly executors: ExecutorRows;
  readonly usage: UsageRows;
  readonly liveText: LiveTextChannel;
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #schema: string;
  readonly #lease: WorkerLease;
  readonly #ids: IdBlocks;
  readonly #reader: BatchReader;
  readonly #cache: RunCache;
  readonly #line: WriteLine;
  readonly #commits: GroupCommit;
  readonly #records: RecordRows;
  readonly #inbox: InboxRows;
  readonly #artifacts: ArtifactStore;
  readonly #watch: Watch;
  /** Contracts and texts never change, and those of callers are read for each of their children. */
  readonly #contracts = new RecentValues<Contract>(2000);
  /** The contracts that this process wrote, often of delegations that it works on. */
  readonly #ownContracts = new RecentValues<string>(2000);
  readonly #bodies = new RecentValues<string>(200);
  #catchingUp: Timer | undefined;
  #notifiedSeq = 0;
  #closing: Promise<void> | undefined;

  private constructor(
    { database, ids, isLimited, lastSeq, lease }: Start,
    options: PostgresStoreOptions,
  ) {
    const { leaseMs = defaultLeaseMs, pollMs = 500 } = options;
    const { clock } = database;
    this.#database = database;
    this.#clock = clock;
    this.#schema = database.schema.quoted;
    this.#lease = lease;
    this.#ids = ids;
    this.#reader = new BatchReader(database);
    this.#cache = new RunCache(database, this.#reader, lastSeq, clock);
    this.#cache.listeners.add((events) => this.#onPruned(events));
    this.#line = new WriteLine(database);
    this.#records = new RecordRows(database);
    this.#inbox = new InboxRows(database);
    this.#artifacts = options.artifacts ?? new ArtifactRows(database);
    this.usage = new UsageRows(database, isLimited);
    this.#cache.listeners.add((events) => this.usage.notice(events));
    this.#commits = new GroupCommit({
      usage: this.usage,
      ...{ database, lease, clock },
      ...{ line: this.#line, reader: this.#reader, cache: this.#cache },
      ...{ records: this.#records, inbox: this.#inbox },
    });
    this.memories = openMemories({
      claimerOf: ({ delegationId, runId }) => claimerOf(this.#cache.get(runId), delegationId),
      ...{ database, lease, clock },
      line: this.#line,
      settled: () => this.#commits.settled(),
    });
    this.idempotency = new IdempotencyRows(database, lease, clock);
    this.executors = new ExecutorRows({ database, lease, line: this.#line });
    this.liveText = new LiveTextChannel({
      ...{ database, lease, clock },
      listen: () => this.#watch.listen(),
    });
    this.#cache.listeners.add((events) => this.liveText.notice(events));
    this.#watch = new Watch({
      ...{ database, lease, clock, leaseMs, pollMs, log: options.log },
      text: this.liveText,
      onCommit: (seq) => this.#onCommit(seq),
      onPoll: () => this.#catchUpSoon(),
    });
  }

  static async open(options: PostgresStoreOptions): Promise<PostgresStore> {
    const { clock = systemClock, leaseMs = defaultLeaseMs, poolSize, tenant, url } = options;
    const database = await openDatabase({
      ...{ url, clock, waitMs: options.waitMs, log: options.log },
      answerMs: Math.max(2_000, 2 * leaseMs),
      ...(tenant !== undefined && { tenant }),
      ...(poolSize !== undefined && { poolSize }),
    });
    try {
      const lease = new WorkerLease(database, leaseMs, options.log);
      const ids = new IdBlocks(database, clock);
      const { quoted } = database.schema;
      const [last] = await Promise.all([
        database.query({
          text: `SELECT (SELECT first_seq + count - 1 FROM ${quoted}.event_batches ORDER BY first_seq DESC LIMIT 1) AS seq,
                   EXISTS (SELECT 1 FROM ${quoted}.records WHERE resource_type = 'limit')
                     OR EXISTS (SELECT 1 FROM ${quoted}.limit_holds) AS is_limited`,
        }),
        lease.enrol(),
        ids.take(),
      ]);
      const lastSeq = Number(last[0]?.["seq"] ?? 0);
      const isLimited = last[0]?.["is_limited"] === true;
      return new PostgresStore({ database, ids, isLimited, lastSeq, lease }, options);
    } catch (error) {
      await database.close();
      throw error;
    }
  }

  get ownership(): Ownership {
    return { worker: this.#lease.worker, fence: 1 };
  }

  newDelegationId(): string {
    return hexOf(this.#ids.next());
  }

  newRunId(): string {
    return runIdOf(this.#ids.next());
  }

  newAskId(): string {
    return askIdOf(this.#ids.next());
  }

  append(append: Append): Promise<readonly StoredEvent[]> {
    if (this.#isOpen && append.runId !== controlRunId) {
      for (const [id, json] of append.contracts ?? []) this.#ownContracts.set(id, json);
      return this.#commits.append(append, undefined, append.declaresDead);
    }
    return refuseAppend(!this.#isOpen);
  }

  readRecord(resourceType: string, resourceId: string): Promise<ControlRecord | undefined> {
    return this.#records.read(resourceType, resourceId);
  }

  listRecords(resourceType: string, prefix = ""): Promise<readonly ControlRecord[]> {
    return this.#records.list(resourceType, prefix);
  }

  async changeRecords(
    changes: readonly RecordChange[],
    actor: string,
  ): Promise<readonly (ControlRecord | null)[]> {
    if (!this.#isOpen) throw closed();
    const prepared = prepareRecordChanges(changes, actor);
    if (prepared.length === 0) return [];
    const events = await this.#commits.changeRecords({ changes: prepared, actor });
    return changedRecords(prepared, events, actor);
  }

  async noteCommand(command: string, actor: string, outcome: string): Promise<void> {
    if (!this.#isOpen) throw closed();
    await this.#commits.append(commandNote(command, actor, outcome));
  }

  readInbox(query: InboxQuery): Promise<readonly InboxItem[]> {
    return this.#inbox.read(query);
  }

  readCursor(reader: string): Promise<number> {
    return this.#inbox.readCursor(reader);
  }

  moveCursor(reader: string, to: number): Promise<number> {
    return this.#inbox.moveCursor(reader, to);
  }

  unreadCount(reader: string): Promise<number> {
    return this.#inbox.unreadCount(reader);
  }

  async readRun(runId: string): Promise<RunState | undefined> {
    if (runId === controlRunId) return undefined;
    if (this.#cache.peek(runId) !== undefined) await this.#cache.catchUp();
    const run = this.#cache.peek(runId) ?? (await this.#cache.load(runId));
    return run.lastRunSeq === 0 ? undefined : run;
  }

  async *readEvents(query: EventQuery): AsyncIterable<StoredEvent> {
    const { after = 0, delegationId, types } = query;
    if (query.runId === undefined && delegationId === undefined) {
      yield* this.#reader.after(after);
      return;
    }
    const runId = query.runId ?? (await this.findRun(delegationId ?? ""));
    const run = runId === undefined ? undefined : runNumberOf(runId);
    if (run === undefined) return;
    for await (const event of this.#reader.ofRun(run, after, types)) {
      if (delegationId === undefined || event.sub_agent_id === delegationId) yield event;
    }
  }

  async readContract(delegationId: string): Promise<Contract> {
    const known = this.#contracts.get(delegationId);
    if (known !== undefined) return known;
    const json = this.#ownContracts.get(delegationId);
    if (json !== undefined) {
      // This process validated the contract when it wrote it. Every write checks the stored one.
      const contract = parseJson(json) as Contract;
      this.#contracts.set(delegationId, contract);
      return contract;
    }
    const [row] = await this.#database.query({
      name: "contract",
      text: `SELECT contract_hash, context_json FROM ${this.#schema}.sub_agents WHERE number = $1`,
      values: [numberOf(delegationId) ?? -1],
    });
    const contract = await readStoredContract(this, delegationId, row);
    this.#contracts.set(delegationId, contract);
    return contract;
  }

  async findRun(id: string): Promise<string | undefined> {
    const { column, number, table } = runPlaceOf(id);
    const [row] = await this.#database.query({
      text: `SELECT ${column} AS run FROM ${this.#schema}.${table} WHERE number = $1`,
      values: [number],
    });
    return row && runIdOf(Number(row["run"]));
  }

  async listRuns(query: RunQuery): Promise<readonly RunRow[]> {
    const { before, limit = 50 } = query;
    const { conditions, values } = runConditions(query, (text, index) => [
      `$${index}`,
      encodeText(text),
    ]);
    const table = `${this.#schema}.runs`;
    if (before !== undefined) {
      // Each process reserves numbers in blocks, so the numbers of two processes are not in order of
      // time.
      values.push(runNumberOf(before) ?? 0);
      const place = `$${values.length}::bigint`;
      conditions.push(
        `(started_at, number) < (coalesce((SELECT started_at FROM ${table} WHERE number = ${place}), 0), ${place})`,
      );
    }
    const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
    const rows = await this.#database.query({
      text: `SELECT * FROM ${table} ${where} ORDER BY started_at DESC, number DESC LIMIT $${values.length + 1}`,
      values: [...values, limit],
    });
    return rows.map((row) => runRowOf(decodeRow(row)));
  }

  keepText(text: string): string {
    return this.#commits.texts.keep(text);
  }

  async readText(hash: string): Promise<string | undefined> {
    const known = this.#bodies.get(hash);
    if (known !== undefined) return known;
    const [row] = await this.#database.query({
      name: "text",
      text: `SELECT body FROM ${this.#schema}.texts WHERE hash = $1`,
      values: [encodeText(hash)],
    });
    if (row === undefined) return undefined;
    const body = String(decodeRow(row)["body"]);
    this.#bodies.set(hash, body);
    return body;
  }

  keepArtifact(body: string): Promise<{ readonly hash: string; readonly bytes: number }> {
    return this.#artifacts.keep(body);
  }

  readArtifact(hash: string): Promise<string | undefined> {
    return this.#artifacts.read(hash);
  }

  async claimRun(runId: string): Promise<Ownership | undefined> {
    const run = await this.readRun(runId);
    if (run === undefined || run.outcome !== null) return undefined;
    // A run of this process that is not paused is being worked on, even if the lease expired.
    const isOpenToAll = isPaused(run);
    if (!isOpenToAll && run.worker === this.#lease.worker) return undefined;
    if (!isOpenToAll && (await this.#lease.isAlive(run.worker))) return undefined;
    const claim = { worker: this.#lease.worker, fence: run.fence + 1 };
    const events = [{ type: "run.resumed", payload: claim } as const];
    const from = isOpenToAll ? undefined : run.worker;
    try {
      // The append checks again, under the lock, that the worker is dead.
      await this.#commits.append({ runId, by: claim, events }, undefined, from);
      return claim;
    } catch (error) {
      if (error instanceof MandateError && error.code === "fenced") return undefined;
      throw error;
    }
  }

  isWorkerAlive(worker: string): Promise<boolean> {
    return this.#lease.isAlive(worker);
  }

  workers(): Promise<readonly WorkerRow[]> {
    return this.executors.workers();
  }

  subscribe(listener: (events: readonly StoredEvent[]) => void): () => void {
    this.#watch.listen();
    return this.#cache.listeners.add(listener);
  }

  inspect(): Promise<Inspection> {
    return inspectDatabase(this.#database, this.#artifacts);
  }

  async prune(request: PruneRequest): Promise<PruneReport> {
    if (!this.#isOpen) throw closed();
    const rows = prunedTables(this.#database, this.#commits);
    return pruneRuns(rows, this.#artifacts, request, this.#clock);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    // Idle connections keep no process alive, but a store that is still closing must.
    const alive = this.#clock.every(1_000, () => undefined);
    this.#database.hurry(closingRetryMs);
    await this.#commits.settled();
    this.liveText.close();
    await this.#watch.close();
    // If these fail, others notice later that this worker is gone, and some numbers are never used.
    await Promise.allSettled([this.#lease.dismiss(), this.#ids.giveBack()]);
    await this.#line.close();
    await this.usage.close();
    await this.#database.close();
    alive.cancel();
  }

  get #isOpen(): boolean {
    return this.#closing === undefined;
  }

  #onPruned(events: readonly StoredEvent[]): void {
    if (!events.some(({ type }) => type === "control.pruned")) return;
    this.#commits.texts.notePruning();
    this.#contracts.clear();
    this.#ownContracts.clear();
    this.#bodies.clear();
  }

  /**
   * Delayed: a process that writes often reads the events of others when it writes, and one read is
   * enough for everything that was committed since.
   */
  #onCommit(seq: number): void {
    this.#notifiedSeq = Math.max(this.#notifiedSeq, seq);
    this.#catchingUp ??= this.#clock
      .after(batchNotificationsMs, () => {
        this.#catchingUp = undefined;
        const known = Math.max(this.#cache.lastSeq, this.#commits.committing);
        if (this.#notifiedSeq > known) this.#catchUpSoon();
      })
      .unref();
  }

  /** The next read makes up for one that fails. */
  #catchUpSoon(): void {
    if (this.#isOpen) this.#cache.catchUp().catch(() => undefined);
  }
}

const defaultLeaseMs = 5_000;
