import type { StoredEvent } from "../../events/event.ts";
import { applyToRun, emptyRun, type RunState } from "../../events/run-state.ts";
import type { Clock } from "../../ports/clock.ts";
import { controlRunId, runIdOf, runNumberOf } from "../../ports/identity.ts";
import { Listeners } from "../shared/store-calls.ts";
import { type BatchReader, eventsIn, lastSeqOf, pageSize } from "./batch-rows.ts";
import type { Database, Row } from "./database.ts";

/**
 * The runs that this process works on, as the log tells them. What this process wrote arrives here
 * like what others wrote: when it is committed, in the order of the log, once. So no reader sees a
 * state that may still be taken back.
 */
export class RunCache {
  readonly listeners = new Listeners();
  readonly #database: Database;
  readonly #reader: BatchReader;
  readonly #clock: Clock;
  readonly #runs = new Map<string, RunState>();
  /** Those that ended a moment ago: who waited for that looks at them now. */
  readonly #ended = new Map<string, RunState>();
  readonly #taking = new Map<string, Promise<RunState>>();
  /** What is heard of those that are being read. */
  readonly #loading = new Map<string, StoredEvent[]>();
  #lastSeq: number;
  #looking: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(database: Database, reader: BatchReader, lastSeq: number, clock: Clock) {
    this.#database = database;
    this.#reader = reader;
    this.#lastSeq = lastSeq;
    this.#clock = clock;
  }

  /** The last event that was heard of. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  get(runId: string): RunState | undefined {
    return this.#runs.get(runId);
  }

  /** Also when it has just ended; not for those who want to add to it. */
  look(runId: string): RunState | undefined {
    return this.#runs.get(runId) ?? this.#ended.get(runId);
  }

  /** The live state from here on, until the run is finished. */
  keep(run: RunState): void {
    if (run.outcome === null) this.#runs.set(run.id, run);
  }

  async load(runId: string): Promise<RunState> {
    const number = runNumberOf(runId);
    const run = emptyRun(runId);
    if (number === undefined) return run;
    // Nothing is folded from the control log, and it grows without limit: its end is all that is needed.
    if (runId === controlRunId) return { ...run, ...(await this.#reader.endOf(number)) };
    for await (const event of this.#reader.ofRun(number)) applyToRun(run, event);
    return run;
  }

  /**
   * Loads it and keeps it, with what is heard of it while it is being read. All callers during the read
   * are given the same state: what one of them writes moves it for the others.
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
      // Something was passed over: what was heard is not all.
      if (!this.#loading.has(runId)) return await this.#loadAndKeep(runId);
      for (const event of heard) if (event.run_seq === run.lastRunSeq + 1) applyToRun(run, event);
      this.keep(run);
      return run;
    } finally {
      this.#loading.delete(runId);
    }
  }

  /** Takes in what is committed; what is known already is passed over. */
  hear(events: readonly StoredEvent[]): void {
    const fresh = events.filter(({ seq }) => seq > this.#lastSeq);
    const last = fresh.at(-1);
    if (last === undefined) return;
    for (const event of fresh) this.#apply(event);
    this.#lastSeq = last.seq;
    this.listeners.tell(fresh);
  }

  hearRows(rows: readonly Row[]): void {
    const heard = this.#lastSeq;
    const events: StoredEvent[] = [];
    for (const row of rows) {
      try {
        events.push(...eventsIn([row], heard));
      } catch (error) {
        if (lastSeqOf([row]) > heard) this.#passOver(row, error);
      }
    }
    this.hear(events);
    if (rows.length > 0) this.#lastSeq = Math.max(this.#lastSeq, lastSeqOf(rows));
  }

  /** Reads what others wrote. A caller during the read is answered by a read that began later. */
  lookAround(): Promise<void> {
    if (this.#looking === undefined) {
      this.#looking = this.#look().finally(() => (this.#looking = undefined));
      return this.#looking;
    }
    const again = (): Promise<void> => {
      this.#next = undefined;
      return this.lookAround();
    };
    this.#next ??= this.#looking.then(again, again);
    return this.#next;
  }

  async #look(): Promise<void> {
    for (let position = this.#lastSeq; ; ) {
      const rows = await this.#database.query(this.#reader.pageAfter(position));
      this.hearRows(rows);
      if (rows.length < pageSize) return;
      position = lastSeqOf(rows);
    }
  }

  /** A run whose log was damaged is nothing to the others; a request for it reports the damage. */
  #passOver(row: Row, error: unknown): void {
    const runId = runIdOf(Number(row["run"]));
    this.#runs.delete(runId);
    this.#ended.delete(runId);
    this.#loading.delete(runId);
    process.emitWarning(error instanceof Error ? error : String(error));
  }

  #apply(event: StoredEvent): void {
    this.#loading.get(event.run_id)?.push(event);
    const run = this.look(event.run_id);
    if (run !== undefined && event.run_seq === run.lastRunSeq + 1) {
      try {
        applyToRun(run, event);
      } catch {
        // A log that says what cannot be is the checker's to tell; no reader is shown half of it.
        this.#runs.delete(run.id);
        this.#ended.delete(run.id);
      }
    }
    if (event.type === "run.finished") this.#retire(event.run_id);
    if (event.type === "control.pruned") this.#ended.clear();
  }

  #retire(runId: string): void {
    const run = this.#runs.get(runId);
    this.#runs.delete(runId);
    if (run === undefined) return;
    this.#ended.set(runId, run);
    this.#clock.after(lingerMs, () => this.#ended.delete(runId)).unref();
  }
}

const lingerMs = 1000;
