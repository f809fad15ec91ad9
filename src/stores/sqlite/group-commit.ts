import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Delegation } from "../../events/delegation.ts";
import type { NewEvent, StoredEvent } from "../../events/event.ts";
import { canonical, link } from "../../events/hash-chain.ts";
import { applyToRun, type RunState } from "../../events/run-state.ts";
import type { Clock } from "../../ports/clock.ts";
import { runNumberOf } from "../../ports/identity.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Append } from "../../ports/store.ts";
import { maximumBatch } from "./batch-rows.ts";
import { Projections, TamperedContract } from "./projections.ts";
import type { ReserveFile } from "./reserve-file.ts";

interface Pending {
  readonly append: Append;
  readonly resolve: (events: readonly StoredEvent[]) => void;
  readonly reject: (error: unknown) => void;
}

export interface RunCache {
  /** The run's state as last seen; loads it, or makes an empty one for a run that is new. */
  stateOf(runId: string, isNew: boolean): RunState;
  /** Reads what other processes wrote since; called when a number we wanted was taken. */
  catchUp(): void;
  lastSeq: number;
  committed(events: readonly StoredEvent[]): void;
  readonly reserve: ReserveFile;
}

/** A turn of the event loop should not be held longer than some twenty milliseconds. */
const eventsPerTransaction = 1500;

/**
 * Gathers the appends of one turn of the event loop into one transaction. A caller continues only
 * when its events are on disk; many callers share the price of getting them there.
 */
export class GroupCommit {
  readonly #database: DatabaseSync;
  readonly #cache: RunCache;
  readonly #clock: Clock;
  readonly #projections: Projections;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #insertBatch: StatementSync;
  readonly #insertText: StatementSync;
  #queue: Pending[] = [];
  #texts: [hash: string, body: string][] = [];
  #scheduled: NodeJS.Immediate | undefined;

  constructor(database: DatabaseSync, cache: RunCache, clock: Clock) {
    this.#database = database;
    this.#cache = cache;
    this.#clock = clock;
    this.#projections = new Projections(database);
    this.#begin = database.prepare("BEGIN IMMEDIATE");
    this.#commit = database.prepare("COMMIT");
    this.#insertBatch = database.prepare("INSERT INTO event_batches VALUES (?, ?, ?, ?, ?, ?)");
    this.#insertText = database.prepare("INSERT OR IGNORE INTO texts VALUES (?, ?)");
  }

  append(append: Append): Promise<readonly StoredEvent[]> {
    const done = new Promise<readonly StoredEvent[]>((resolve, reject) => {
      this.#queue.push({ append, resolve, reject });
    });
    // A caller may go on and wait later; until then a refusal is nobody's unhandled rejection.
    done.catch(ignore);
    this.#scheduled ??= setImmediate(() => this.flush());
    return done;
  }

  keepText(hash: string, body: string): void {
    this.#texts.push([hash, body]);
  }

  /** Writes everything, before closing. */
  flushAll(): void {
    while (this.#queue.length > 0) this.flush();
  }

  /** Writes what is queued now, as much as one transaction should hold. */
  flush(): void {
    clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
    const pending = this.#take();
    if (pending.length === 0) return;
    this.#cache.reserve.ensure();
    try {
      const transaction = this.#commitAll(pending);
      this.#texts = [];
      this.#cache.lastSeq += transaction.events.length;
      for (const [index, one] of pending.entries()) {
        const outcome = transaction.outcomes[index];
        if (outcome instanceof Error) one.reject(outcome);
        else one.resolve(outcome ?? []);
      }
      this.#cache.committed(transaction.events);
    } catch (error) {
      const reason = storageError(error);
      if (reason instanceof MandateError && reason.code === "storage-full")
        this.#cache.reserve.giveUp();
      for (const one of pending) one.reject(reason);
    }
    if (this.#queue.length > 0) this.#scheduled ??= setImmediate(() => this.flush());
  }

  /**
   * One transaction. What other processes wrote since we last looked is read when it matters: when
   * the number we wanted is taken, and before anybody is refused for what we believe. It is read
   * inside the transaction, while nobody can write, so once is enough.
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
    const transaction = new Transaction(this.#cache, this.#clock.now());
    for (const one of pending) transaction.stage(one.append, tampered);
    return transaction;
  }

  #take(): Pending[] {
    let events = 0;
    let count = 0;
    while (count < this.#queue.length && events < eventsPerTransaction) {
      events += this.#queue[count]?.append.events.length ?? 0;
      count++;
    }
    if (count === this.#queue.length) {
      const all = this.#queue;
      this.#queue = [];
      return all;
    }
    return this.#queue.splice(0, count);
  }

  #write(transaction: Transaction): void {
    for (const [hash, body] of this.#texts) this.#insertText.run(hash, body);
    for (const batch of transaction.batches) {
      const { firstSeq, run, firstRunSeq, texts, hash } = batch;
      this.#insertBatch.run(firstSeq, run, firstRunSeq, texts.length, hash, `[${texts.join(",")}]`);
    }
    for (const [run, isNew] of transaction.movedRuns) this.#projections.writeRun(run, isNew);
    for (const [id, { run, contract }] of transaction.movedDelegations) {
      const delegation = run.delegations.get(id);
      if (delegation) this.#projections.writeDelegation(run, delegation, contract);
    }
    for (const [run, event] of transaction.asks) {
      if (event.type === "agent.asked") this.#projections.writeAsk(run, event);
      else this.#projections.answerAsk(event);
    }
  }
}

interface Batch {
  readonly firstSeq: number;
  readonly run: number;
  readonly firstRunSeq: number;
  readonly texts: string[];
  hash: string;
}

/** One try at writing: applies events to the cached state and remembers how to take that back. */
class Transaction {
  readonly events: StoredEvent[] = [];
  readonly outcomes: (readonly StoredEvent[] | Error)[] = [];
  readonly batches: Batch[] = [];
  readonly movedRuns = new Map<RunState, boolean>();
  readonly movedDelegations = new Map<string, { run: RunState; contract: string | undefined }>();
  readonly asks: [RunState, StoredEvent<"agent.asked" | "agent.answered">][] = [];
  readonly #cache: RunCache;
  readonly #at: number;
  readonly #undo: Undo[] = [];
  readonly #texts: string[] = [];
  #currentRun: RunState | undefined;

  constructor(cache: RunCache, at: number) {
    this.#cache = cache;
    this.#at = at;
  }

  stage(append: Append, tampered: ReadonlySet<string>): void {
    const starts = append.events[0]?.type === "run.started";
    const run = this.#cache.stateOf(append.runId, starts);
    const mark = { undo: this.#undo.length, events: this.events.length };
    this.#undo.push({
      run,
      id: undefined,
      delegation: undefined,
      before: beforeAppend(run, append),
    });
    try {
      this.#checkOwner(run, append);
      for (const event of append.events) this.#stageOne(run, event, tampered);
    } catch (error) {
      this.#rewind(mark.undo);
      this.events.length = mark.events;
      this.#texts.length = mark.events;
      this.outcomes.push(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    this.outcomes.push(this.events.slice(mark.events));
    for (let index = mark.events; index < this.events.length; index++)
      this.#accept(run, append, index);
  }

  get hasRefusals(): boolean {
    return this.outcomes.some((outcome) => outcome instanceof Error);
  }

  undo(): void {
    this.#rewind(0);
  }

  #stageOne(run: RunState, event: NewEvent, tampered: ReadonlySet<string>): void {
    const id = event.sub_agent_id;
    if (id !== undefined) {
      if (tampered.size > 0 && tampered.has(id) && !endsTampered(event))
        throw new TamperedContract(id);
      const last = this.#undo.at(-1);
      // Only the first change of a delegation in a row needs taking back.
      if (last?.id !== id)
        this.#undo.push({ run, id, delegation: run.delegations.get(id), before: undefined });
    }
    const text = canonical(event, this.#at);
    const seq = this.#cache.lastSeq + this.events.length + 1;
    const run_seq = run.lastRunSeq + 1;
    const hash = link(run.head, text);
    const { type, payload } = event;
    // Two literals, not a spread: this is made for every event there is.
    const stored = (
      id === undefined
        ? { seq, run_seq, run_id: run.id, type, at: this.#at, payload, hash }
        : { seq, run_seq, run_id: run.id, sub_agent_id: id, type, at: this.#at, payload, hash }
    ) as StoredEvent;
    applyToRun(run, stored);
    this.events.push(stored);
    this.#texts.push(text);
  }

  #checkOwner(run: RunState, append: Append): void {
    if (append.ifRunSeq !== undefined && append.ifRunSeq !== run.lastRunSeq) {
      throw new MandateError("conflict", `Run ${run.id} has moved on in the meantime.`);
    }
    if (append.by === "operator" || append.events[0]?.type === "run.started") return;
    if (append.by.worker === run.worker && append.by.fence === run.fence) return;
    // Taking a run over is itself an append, by its new owner, one fence higher.
    if (append.events[0]?.type === "run.resumed" && append.by.fence === run.fence + 1) return;
    throw new MandateError("fenced", `Run ${run.id} is now worked on by another process.`);
  }

  #accept(run: RunState, append: Append, index: number): void {
    const event = this.events[index];
    if (event === undefined) return;
    this.#addToBatch(run, event, this.#texts[index] ?? "");
    const id = event.sub_agent_id;
    switch (event.type) {
      case "run.started":
        this.movedRuns.set(run, true);
        break;
      case "run.resumed":
      case "run.finished":
        this.movedRuns.set(run, this.movedRuns.get(run) ?? false);
        break;
      case "agent.asked":
      case "agent.answered":
        this.asks.push([run, event]);
        break;
      case "agent.subagent_created":
        if (id !== undefined)
          this.movedDelegations.set(id, { run, contract: append.contracts?.[id] });
        break;
      case "agent.subagent_started":
      case "agent.subagent_waiting_for_merge":
      case "agent.subagent_completed":
      case "agent.subagent_failed":
      case "agent.subagent_closed":
        if (id !== undefined && !this.movedDelegations.has(id)) {
          this.movedDelegations.set(id, { run, contract: undefined });
        }
        break;
      default:
    }
  }

  #addToBatch(run: RunState, event: StoredEvent, text: string): void {
    let batch = this.batches.at(-1);
    if (batch === undefined || this.#currentRun !== run || batch.texts.length >= maximumBatch) {
      batch = {
        firstSeq: event.seq,
        run: runNumberOf(run.id) ?? 0,
        firstRunSeq: event.run_seq,
        texts: [],
        hash: "",
      };
      this.batches.push(batch);
      this.#currentRun = run;
    }
    batch.texts.push(text);
    batch.hash = event.hash;
  }

  #rewind(mark: number): void {
    for (let index = this.#undo.length - 1; index >= mark; index--) {
      const change = this.#undo[index];
      if (change === undefined) continue;
      const { run, id, delegation, before } = change;
      if (before) Object.assign(run, before);
      else if (id !== undefined && delegation) run.delegations.set(id, delegation);
      else if (id !== undefined) run.delegations.delete(id);
    }
    this.#undo.length = mark;
  }
}

/** How to take back one change: a delegation's, or the run's own fields before an append. */
interface Undo {
  readonly run: RunState;
  readonly id: string | undefined;
  readonly delegation: Delegation | undefined;
  readonly before: Partial<RunState> | undefined;
}

/** Most appends are about delegations; only a run's own events change more of it than its end. */
function beforeAppend(run: RunState, { events }: Append): Partial<RunState> {
  const isAboutRun = events.some(({ type }) => type.startsWith("run."));
  return isAboutRun ? { ...run } : { lastRunSeq: run.lastRunSeq, head: run.head };
}

function endsTampered(event: Append["events"][number]): boolean {
  if (event.type === "agent.subagent_failed") return event.payload.code === "policy_denied";
  return event.type === "agent.subagent_closed" || event.type === "agent.budget_settled";
}

function isKeyConflict(error: unknown): boolean {
  return sqliteCode(error) === 1555 || sqliteCode(error) === 2067;
}

function sqliteCode(error: unknown): number | undefined {
  const code = error instanceof Error ? (error as { errcode?: unknown }).errcode : undefined;
  return typeof code === "number" ? code : undefined;
}

const sqliteFull = 13;

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

function ignore(): void {}
