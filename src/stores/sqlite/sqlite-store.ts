/**
 * The store in a SQLite file, for one machine. Events are written by `group-commit.ts`, and tables
 * are written in the same transaction. What both databases do alike is in `../shared`. Stores may
 * import ports, events, contracts and workspaces/processes.
 */
import { realpathSync } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Contract } from "../../contracts/contract.ts";
import type { StoredEvent } from "../../events/event.ts";
import type { InboxItem } from "../../events/inbox-item.ts";
import { prepareRecordChanges } from "../../events/record-change.ts";
import { applyToRun, emptyRun, foldRun, isPaused, type RunState } from "../../events/run-state.ts";
import { type Clock, systemClock, type Timer } from "../../ports/clock.ts";
import {
  askIdOf,
  controlRunId,
  hexOf,
  numberOf,
  runIdOf,
  runNumberOf,
} from "../../ports/identity.ts";
import type { Inspection, LogHead } from "../../ports/inspection.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { MemoryStore } from "../../ports/memory-store.ts";
import type { ControlRecord, RecordChange } from "../../ports/record-store.ts";
import type {
  Append,
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
import type { UsageStore } from "../../ports/usage-store.ts";
import { type BatchRow, eventsOf } from "../shared/event-batch.ts";
import { claimerOf } from "../shared/memory-tables.ts";
import { pruneRuns } from "../shared/prune-runs.ts";
import {
  changedRecords,
  closed,
  commandNote,
  Listeners,
  readStoredContract,
  refuseAppend,
} from "../shared/store-calls.ts";
import { runConditions, runPlaceOf, runRowOf } from "../shared/stored-rows.ts";
import { ArtifactFolder } from "./artifact-folder.ts";
import { BatchReader, RunIndex } from "./batch-rows.ts";
import { changeNow, GroupCommit, isNoDatabase, type RunCache } from "./group-commit.ts";
import { HeadFile } from "./head-file.ts";
import { IdempotencyRows } from "./idempotency-rows.ts";
import { InboxRows } from "./inbox-rows.ts";
import { inspectDatabase, prunedTables } from "./maintenance.ts";
import { openMemories } from "./memory-rows.ts";
import { type DatabaseOptions, idBlocks, openDatabase } from "./open-database.ts";
import { RecordRows } from "./record-rows.ts";
import { ReserveFile } from "./reserve-file.ts";
import { UsageRows } from "./usage-rows.ts";
import { dismissWorker, enrolWorker, isWorkerAlive, pidOf } from "./worker.ts";

export interface SqliteStoreOptions extends DatabaseOptions {
  /** The folder of the artifacts; null keeps them in memory. */
  readonly artifacts: string | null;
  readonly clock?: Clock;
  /** How often to read what other processes wrote. */
  readonly pollMs?: number;
}

const longestTurnMs = 20; // Then a reader yields to other work.

export class SqliteStore implements Store {
  readonly ownership: Ownership;
  readonly usage: UsageStore;
  readonly #database: DatabaseSync;
  readonly #index: RunIndex;
  readonly #reader: BatchReader;
  readonly #log: RunCache;
  readonly #commits: GroupCommit;
  readonly #records: RecordRows;
  readonly #inbox: InboxRows;
  readonly #artifacts: ArtifactFolder;
  readonly #heads: HeadFile;
  readonly #clock: Clock;
  readonly #nextNumber: () => number;
  readonly #runs = new Map<string, RunState>();
  /** An open run of another process: it is likely to be read again. */
  #lastLoaded: RunState | undefined;
  readonly #listeners = new Listeners();
  readonly #poll: Timer;
  #dataVersion: unknown;
  #hasWarned = false;
  #versionStatement: StatementSync | undefined;
  #contractStatement: StatementSync | undefined;
  #textStatement: StatementSync | undefined;
  #memories: MemoryStore | undefined;
  #idempotency: IdempotencyStore | undefined;
  #closed = false;

  constructor(options: SqliteStoreOptions) {
    this.#clock = options.clock ?? systemClock;
    this.#database = openDatabase(options);
    this.#index = new RunIndex(this.#database);
    this.#reader = new BatchReader(this.#database, this.#index);
    this.#artifacts = new ArtifactFolder(options.artifacts, this.#clock);
    const { path } = options;
    // The file stands beside the real database, so that all writers share it when the path is a link.
    const headPath = path === ":memory:" ? null : `${realpathSync(path)}-head`;
    this.#heads = new HeadFile(headPath, this.#clock);
    this.#nextNumber = idBlocks(this.#database);
    this.usage = new UsageRows(this.#database, this.#clock, () => this.#requireOpen());
    this.#dataVersion = this.#readDataVersion();
    this.ownership = { worker: enrolWorker(), fence: 1 };
    this.#log = {
      lastSeq: this.#reader.lastSeq(),
      stateOf: (runId, isNew) => this.#stateOf(runId, isNew),
      catchUp: () => this.#catchUp(),
      committed: (events) => this.#committed(events),
      reserve: new ReserveFile(path === ":memory:" ? null : `${path}-reserve`, this.#clock),
    };
    this.#records = new RecordRows(this.#database);
    this.#inbox = new InboxRows(this.#database, this.#index);
    const rows = { records: this.#records, inbox: this.#inbox };
    this.#commits = new GroupCommit(this.#database, this.#log, rows, this.#clock);
    this.#poll = this.#clock.every(options.pollMs ?? 100, () => this.#pollOthers()).unref();
  }

  newDelegationId(): string {
    return hexOf(this.#nextNumber());
  }

  newRunId(): string {
    return runIdOf(this.#nextNumber());
  }

  newAskId(): string {
    return askIdOf(this.#nextNumber());
  }

  append(append: Append): Promise<readonly StoredEvent[]> {
    if (!this.#closed && append.runId !== controlRunId) return this.#commits.append(append);
    return refuseAppend(this.#closed);
  }

  async readRecord(resourceType: string, resourceId: string): Promise<ControlRecord | undefined> {
    return this.#records.read(resourceType, resourceId);
  }

  async listRecords(resourceType: string, prefix = ""): Promise<readonly ControlRecord[]> {
    return this.#records.list(resourceType, prefix);
  }

  async changeRecords(
    changes: readonly RecordChange[],
    actor: string,
  ): Promise<readonly (ControlRecord | null)[]> {
    this.#requireOpen();
    const prepared = prepareRecordChanges(changes, actor);
    if (prepared.length === 0) return [];
    const events = await this.#commits.changeRecords({ changes: prepared, actor });
    return changedRecords(prepared, events, actor);
  }

  async noteCommand(command: string, actor: string, outcome: string): Promise<void> {
    this.#requireOpen();
    await this.#commits.append(commandNote(command, actor, outcome));
  }

  async readInbox(query: InboxQuery): Promise<readonly InboxItem[]> {
    return this.#inbox.read(query);
  }

  async readCursor(reader: string): Promise<number> {
    return this.#inbox.readCursor(reader);
  }

  moveCursor(reader: string, to: number): Promise<number> {
    const move = () => this.#inbox.moveCursor(reader, to);
    return changeNow(this.#database, move, () => this.#requireOpen());
  }

  async unreadCount(reader: string): Promise<number> {
    return this.#inbox.unreadCount(reader);
  }

  async readRun(runId: string): Promise<RunState | undefined> {
    if (runId === controlRunId) return undefined;
    this.#catchUpIfChanged();
    const run = this.#runs.get(runId) ?? this.#recall(runId) ?? this.#load(runId);
    if (run.lastRunSeq === 0) return undefined;
    if (run.outcome === null && !this.#runs.has(runId)) this.#lastLoaded = run;
    return run;
  }

  async *readEvents(query: EventQuery): AsyncIterable<StoredEvent> {
    const { delegationId } = query;
    if (query.runId === undefined && delegationId === undefined) {
      yield* this.#reader.after(query.after ?? 0);
      return;
    }
    const runId = query.runId ?? (await this.findRun(delegationId ?? ""));
    const run = runId === undefined ? undefined : runNumberOf(runId);
    if (run === undefined) return;
    const batches =
      delegationId === undefined
        ? this.#reader.batchedOfRun(run, query.after)
        : this.#reader.batchedOfDelegation(run, delegationId, query.after);
    let turnBegan = this.#clock.monotonic();
    for (const events of batches) {
      yield* events;
      // A long log is read in pieces, so that other work of this process gets a turn.
      if (this.#clock.monotonic() - turnBegan < longestTurnMs) continue;
      await nextTurn();
      this.#requireOpen();
      turnBegan = this.#clock.monotonic();
    }
  }

  async readContract(delegationId: string): Promise<Contract> {
    this.#contractStatement ??= this.#database.prepare(
      "SELECT contract_hash, context_json FROM sub_agents WHERE number = ?",
    );
    const row = this.#contractStatement.get(numberOf(delegationId) ?? -1);
    return readStoredContract(this, delegationId, row);
  }

  async findRun(id: string): Promise<string | undefined> {
    const { column, number, table } = runPlaceOf(id);
    const sql = `SELECT ${column} AS run FROM ${table} WHERE number = ?`;
    const row = this.#database.prepare(sql).get(number);
    return row === undefined ? undefined : runIdOf(Number(row["run"]));
  }

  async listRuns(query: RunQuery): Promise<readonly RunRow[]> {
    const { before, limit = 50 } = query;
    const { conditions, values } = runConditions(query);
    if (before !== undefined) {
      // Each process reserves numbers in blocks, so the numbers of two processes are not in order of
      // time.
      const number = runNumberOf(before) ?? 0;
      const row = this.#database
        .prepare("SELECT started_at FROM runs WHERE number = ?")
        .get(number);
      conditions.push("(started_at, number) < (?, ?)");
      values.push(Number(row?.["started_at"] ?? 0), number);
    }
    const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
    const rows = this.#database
      .prepare(`SELECT * FROM runs ${where} ORDER BY started_at DESC, number DESC LIMIT ?`)
      .all(...values, limit);
    return rows.map(runRowOf);
  }

  /** Created on first use: most processes need none. */
  get memories(): MemoryStore {
    this.#requireOpen();
    this.#memories ??= openMemories({
      claimerOf: ({ delegationId, runId }) => claimerOf(this.#runs.get(runId), delegationId),
      database: this.#database,
      clock: this.#clock,
      worker: this.ownership.worker,
      catchUp: () => {
        this.#requireOpen();
        this.#commits.flushAll();
      },
    });
    return this.#memories;
  }

  /** Created on first use, as above. */
  get idempotency(): IdempotencyStore {
    this.#requireOpen();
    this.#idempotency ??= new IdempotencyRows({
      database: this.#database,
      clock: this.#clock,
      worker: this.ownership.worker,
      requireOpen: () => this.#requireOpen(),
    });
    return this.#idempotency;
  }

  keepText(text: string): string {
    return this.#commits.texts.keep(text);
  }

  async readText(hash: string): Promise<string | undefined> {
    // A recovery of thousands of delegations reads the prompt of each.
    this.#textStatement ??= this.#database.prepare("SELECT body FROM texts WHERE hash = ?");
    const row = this.#textStatement.get(hash);
    return row === undefined ? undefined : String(row["body"]);
  }

  keepArtifact(body: string): Promise<{ hash: string; bytes: number }> {
    return this.#artifacts.keep(body);
  }

  readArtifact(hash: string): Promise<string | undefined> {
    return this.#artifacts.read(hash);
  }

  async claimRun(runId: string): Promise<Ownership | undefined> {
    const run = await this.readRun(runId);
    if (run === undefined || run.outcome !== null) return undefined;
    if (isWorkerAlive(run.worker) && !isPaused(run)) return undefined;
    const claim = { worker: this.ownership.worker, fence: run.fence + 1 };
    try {
      await this.append({ runId, by: claim, events: [{ type: "run.resumed", payload: claim }] });
      return claim;
    } catch (error) {
      if (error instanceof MandateError && error.code === "fenced") return undefined;
      throw error;
    }
  }

  async isWorkerAlive(worker: string): Promise<boolean> {
    return isWorkerAlive(worker);
  }

  pidOf(worker: string): number | undefined {
    return pidOf(worker);
  }

  subscribe(listener: (events: readonly StoredEvent[]) => void): () => void {
    return this.#listeners.add(listener);
  }

  inspect(): Inspection {
    return inspectDatabase(this.#database, { artifacts: this.#artifacts, heads: this.#heads });
  }

  async prune(request: PruneRequest): Promise<PruneReport> {
    this.#requireOpen();
    const rows = prunedTables({
      database: this.#database,
      reader: this.#reader,
      commits: this.#commits,
      clock: this.#clock,
      heads: this.#heads,
      requireOpen: () => this.#requireOpen(),
    });
    return pruneRuns(rows, this.#artifacts, request, this.#clock);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#commits.flushAll();
    this.#noteOpenRuns();
    this.#closed = true;
    this.#poll.cancel();
    dismissWorker(this.ownership.worker);
    this.#database.close();
  }

  #requireOpen(): void {
    if (this.#closed) throw closed();
  }

  #stateOf(runId: string, isNew: boolean): RunState {
    const cached = this.#runs.get(runId);
    if (cached) return cached;
    // Ids are unique, so a run that starts has no stored events; otherwise the primary key fails.
    const run = isNew ? emptyRun(runId) : (this.#recall(runId) ?? this.#load(runId));
    if (run.outcome === null) this.#runs.set(runId, run);
    return run;
  }

  /** The run that was loaded last. New events update it like the runs of this process. */
  #recall(runId: string): RunState | undefined {
    return this.#lastLoaded?.id === runId ? this.#lastLoaded : undefined;
  }

  #load(runId: string): RunState {
    const number = runNumberOf(runId);
    if (number === undefined) return emptyRun(runId);
    // The control log has no state and grows without limit: only its end is needed.
    if (runId === controlRunId) {
      const { head, lastRunSeq } = this.#reader.endOf(number, Number.MAX_SAFE_INTEGER);
      return { ...emptyRun(runId), head, lastRunSeq };
    }
    return foldRun(runId, this.#reader.ofRun(number));
  }

  #committed(events: readonly StoredEvent[]): void {
    for (const event of events) {
      if (event.type === "run.finished") this.#forgetState(event.run_id);
      else if (event.type === "control.pruned") {
        this.#forgetState(event.payload.run);
        this.#reader.forget(runNumberOf(event.payload.run) ?? 0);
        this.#commits.texts.notePruning();
      }
    }
    this.#heads.addEnds(events);
    this.#listeners.notify(events);
    this.#index.keepUp(this.#log.lastSeq);
  }

  /** Notes the last event of each suspended or orphaned run. */
  #noteOpenRuns(): void {
    const heads: LogHead[] = [];
    for (const runId of this.#runs.keys()) {
      if (runId === controlRunId) continue;
      try {
        const end = this.#reader.endOf(runNumberOf(runId) ?? -1, Number.MAX_SAFE_INTEGER);
        if (end.lastSeq > 0) heads.push({ runId, seq: end.lastSeq, hash: end.head });
      } catch {
        // An unreadable database can still be closed.
      }
    }
    this.#heads.add(heads);
    this.#heads.flush();
  }

  #forgetState(runId: string): void {
    this.#runs.delete(runId);
    if (this.#recall(runId)) this.#lastLoaded = undefined;
  }

  /**
   * No caller waits for this read, and the next one reads what this one missed, so a failure is
   * only reported once.
   */
  #pollOthers(): void {
    try {
      this.#catchUpIfChanged();
      this.#hasWarned = false;
    } catch (error) {
      // The file was replaced: the state of this process is no longer valid.
      if (isNoDatabase(error)) throw error;
      if (!this.#hasWarned) process.emitWarning(error instanceof Error ? error : String(error));
      this.#hasWarned = true;
    }
  }

  /** Cheap when no other process wrote: SQLite counts the commits of other connections. */
  #catchUpIfChanged(): void {
    if (this.#closed) return;
    const version = this.#readDataVersion();
    if (version === this.#dataVersion) return;
    this.#catchUp();
    this.#dataVersion = version;
  }

  #catchUp(): void {
    const foreign: StoredEvent[] = [];
    // A cached run may be ahead of the events that are read here: then its hash is not the right
    // one.
    const headOf = (number: number, runSeq: number): string | undefined => {
      const run = this.#runs.get(runIdOf(number));
      return run?.lastRunSeq === runSeq ? run.head : undefined;
    };
    let through = this.#log.lastSeq;
    for (const [row, before] of this.#reader.batchesAfter(through, headOf)) {
      for (const event of this.#eventsOf(row, before)) {
        if (event.seq <= through) continue;
        this.#apply(event);
        foreign.push(event);
      }
      through = row.first_seq + row.count - 1;
    }
    this.#log.lastSeq = through;
    if (foreign.length > 0) this.#committed(foreign);
  }

  /** A damaged run must not affect other runs. A request for it reports the damage. */
  #eventsOf(row: BatchRow, before: string): readonly StoredEvent[] {
    try {
      return eventsOf(row, before);
    } catch (error) {
      this.#forgetState(runIdOf(row.run));
      process.emitWarning(error instanceof Error ? error : String(error));
      return [];
    }
  }

  #apply(event: StoredEvent): void {
    const run = this.#runs.get(event.run_id) ?? this.#recall(event.run_id);
    if (run === undefined || event.run_seq !== run.lastRunSeq + 1) return;
    try {
      applyToRun(run, event);
    } catch {
      // The checker reports an impossible log; no reader gets a half-applied state.
      this.#forgetState(run.id);
    }
  }

  #readDataVersion(): unknown {
    this.#versionStatement ??= this.#database.prepare("PRAGMA data_version");
    return this.#versionStatement.get()?.["data_version"];
  }
}
