import type { StoredEvent } from "../../events/event.ts";
import { applyToRun, emptyRun, type RunState } from "../../events/run-state.ts";
import type { Clock } from "../../ports/clock.ts";
import { controlRunId, runIdOf, runNumberOf } from "../../ports/identity.ts";
import { Listeners } from "../shared/store-calls.ts";
import { type BatchReader, eventsIn, lastSeqOf, pageSize } from "./batch-rows.ts";
import type { Database, Row } from "./database.ts";

/**
 * The runs that this process works on, folded from the log. Events of this process arrive here like
 * those of others: when they are committed, in the order of the log, once. So no reader sees a
 * state that may be undone.
 */
export class RunCache {
  readonly listeners = new Listeners();
  readonly #database: Database;
  readonly #reader: BatchReader;
  readonly #clock: Clock;
  readonly #runs = new Map<string, RunState>();
  /** Runs that finished a moment ago: callers that waited for that read them now. */
  readonly #ended = new Map<string, RunState>();
  readonly #taking = new Map<string, Promise<RunState>>();
  /** Events that arrive for a run while it is being read. */
  readonly #loading = new Map<string, StoredEvent[]>();
  #lastSeq: number;
  #catchingUp: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(database: Database, reader: BatchReader, lastSeq: number, clock: Clock) {
    this.#database = database;
    this.#reader = reader;
    this.#lastSeq = lastSeq;
    this.#clock = clock;
  }

  /** The last event that was applied. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  get(runId: string): RunState | undefined {
    return this.#runs.get(runId);
  }

  /** Includes runs that have just finished; not for appending. */
  peek(runId: string): RunState | undefined {
    return this.#runs.get(runId) ?? this.#ended.get(runId);
  }

  /** Keeps the state live until the run is finished. */
  keep(run: RunState): void {
    if (run.outcome === null) this.#runs.set(run.id, run);
  }

  async load(runId: string): Promise<RunState> {
    const number = runNumberOf(runId);
    const run = emptyRun(runId);
    if (number === undefined) return run;
    // The control log has no state and grows without limit: only its end is needed.
    if (runId === controlRunId) return { ...run, ...(await this.#reader.endOf(number)) };
    for await (const event of this.#reader.ofRun(number)) applyToRun(run, event);
    return run;
  }

  /**
   * Loads a run and keeps it, with the events that arrive while it is read. All callers during the
   * read get the same state, so that an append of one moves it for the others.
   */
  async take(runId: string): Promise<RunState> {
    const known = this.#runs.get(runId);
    if (known !== undefined) return known;
    const underWay = this.#taking.get(runId);
    if (underWay !== undefined) return underWay;
    const taking = this.#loadAndKeep(runId).finally(() => this.#taking.delete(runId));
    this.#taking.set(runId, taking);
    return taking;
  }

  async #loadAndKeep(runId: string): Promise<RunState> {
    const heard: StoredEvent[] = [];
    this.#loading.set(runId, heard);
    try {
      const run = await this.load(runId);
      // A damaged batch was skipped during the read: read the run again.
      if (!this.#loading.has(runId)) return await this.#loadAndKeep(runId);
      for (const event of heard) if (event.run_seq === run.lastRunSeq + 1) applyToRun(run, event);
      this.keep(run);
      return run;
    } finally {
      this.#loading.delete(runId);
    }
  }

  /** Applies committed events and ignores those that are known. */
  receive(events: readonly StoredEvent[]): void {
    const fresh = events.filter(({ seq }) => seq > this.#lastSeq);
    const last = fresh.at(-1);
    if (last === undefined) return;
    for (const event of fresh) this.#apply(event);
    this.#lastSeq = last.seq;
    this.listeners.notify(fresh);
  }

  receiveRows(rows: readonly Row[]): void {
    const heard = this.#lastSeq;
    const events: StoredEvent[] = [];
    for (const row of rows) {
      try {
        events.push(...eventsIn([row], heard));
      } catch (error) {
        if (lastSeqOf([row]) > heard) this.#passOver(row, error);
      }
    }
    this.receive(events);
    if (rows.length > 0) this.#lastSeq = Math.max(this.#lastSeq, lastSeqOf(rows));
  }

  /** Reads what others wrote. A caller during a read gets the result of the next read. */
  catchUp(): Promise<void> {
    if (this.#catchingUp === undefined) {
      this.#catchingUp = this.#readNew().finally(() => (this.#catchingUp = undefined));
      return this.#catchingUp;
    }
    const again = (): Promise<void> => {
      this.#next = undefined;
      return this.catchUp();
    };
    this.#next ??= this.#catchingUp.then(again, again);
    return this.#next;
  }

  async #readNew(): Promise<void> {
    for (let position = this.#lastSeq; ; ) {
      const rows = await this.#database.query(this.#reader.pageAfter(position));
      this.receiveRows(rows);
      if (rows.length < pageSize) return;
      position = lastSeqOf(rows);
    }
  }

  /** A damaged run must not affect other runs. A request for it reports the damage. */
  #passOver(row: Row, error: unknown): void {
    const runId = runIdOf(Number(row["run"]));
    this.#runs.delete(runId);
    this.#ended.delete(runId);
    this.#loading.delete(runId);
    process.emitWarning(error instanceof Error ? error : String(error));
  }

  #apply(event: StoredEvent): void {
    this.#loading.get(event.run_id)?.push(event);
    const run = this.peek(event.run_id);
    if (run !== undefined && event.run_seq === run.lastRunSeq + 1) {
      try {
        applyToRun(run, event);
      } catch {
        // The checker reports an impossible log; no reader gets a half-applied state.
        this.#runs.delete(run.id);
        this.#ended.delete(run.id);
      }
    }
    if (event.type === "run.finished") this.#finish(event.run_id);
    if (event.type === "control.pruned") this.#ended.clear();
  }

  #finish(runId: string): void {
    const run = this.#runs.get(runId);
    this.#runs.delete(runId);
    if (run === undefined) return;
    this.#ended.set(runId, run);
    this.#clock.after(keepFinishedMs, () => this.#ended.delete(runId)).unref();
  }
}

const keepFinishedMs = 1000;
