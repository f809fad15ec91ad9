import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Delegation } from "../../events/delegation.ts";
import type { StoredEvent } from "../../events/event.ts";
import { canonical, link } from "../../events/hash-chain.ts";
import { applyToRun, type RunState } from "../../events/run-state.ts";
import type { Clock } from "../../ports/clock.ts";
import { runNumberOf } from "../../ports/identity.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Append } from "../../ports/store.ts";
import { maximumBatch } from "./batch-rows.ts";
import { Projections, TamperedContract } from "./projections.ts";

interface Pending {
  readonly append: Append;
  readonly resolve: (events: readonly StoredEvent[]) => void;
  readonly reject: (error: unknown) => void;
}

export interface RunCache {
  /** The run's state as last seen; loads it, or makes an empty one for a run that is new. */
  stateOf(runId: string): RunState;
  /** Reads what other processes wrote since; called when a number we wanted was taken. */
  catchUp(): void;
  lastSeq: number;
  committed(events: readonly StoredEvent[]): void;
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

  /** Writes what is queued now. Also called before closing. */
  flush(): void {
    clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
    const pending = this.#take();
    if (pending.length === 0) return;
    const tampered = new Set<string>();
    for (let tries = 0; ; tries++) {
      const transaction = new Transaction(this.#cache, this.#clock.now());
      try {
        this.#begin.run();
        for (const one of pending) transaction.stage(one.append, tampered);
        this.#write(transaction);
        this.#commit.run();
      } catch (error) {
        transaction.undo();
        if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
        if (error instanceof TamperedContract) {
          tampered.add(error.delegationId);
          continue;
        }
        // Somebody else wrote since we last looked: read that first, then everything is judged anew.
        if (isKeyConflict(error) && tries < 100) {
          this.#cache.catchUp();
          continue;
        }
        const reason = storageError(error);
        for (const one of pending) one.reject(reason);
        break;
      }
      this.#texts = [];
      this.#cache.lastSeq += transaction.events.length;
      for (const [index, one] of pending.entries()) {
        const outcome = transaction.outcomes[index];
        if (outcome instanceof Error) one.reject(outcome);
        else one.resolve(outcome ?? []);
      }
      this.#cache.committed(transaction.events);
      break;
    }
    if (this.#queue.length > 0) this.#scheduled ??= setImmediate(() => this.flush());
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
  readonly #before: { run: RunState; fields: Partial<RunState> }[] = [];
  readonly #previous: { run: RunState; id: string; delegation: Delegation | undefined }[] = [];
  #currentRun: RunState | undefined;

  constructor(cache: RunCache, at: number) {
    this.#cache = cache;
    this.#at = at;
  }

  stage(append: Append, tampered: ReadonlySet<string>): void {
    const run = this.#cache.stateOf(append.runId);
    const mark = { before: this.#before.length, previous: this.#previous.length };
    this.#remember(run);
    try {
      this.#checkOwner(run, append);
      const staged: StoredEvent[] = [];
      const texts: string[] = [];
      for (const event of append.events) {
        const id = event.sub_agent_id;
        if (id !== undefined) {
          if (tampered.has(id) && !endsTampered(event)) throw new TamperedContract(id);
          this.#previous.push({ run, id, delegation: run.delegations.get(id) });
        }
        const text = canonical(event, this.#at);
        const stored = {
          seq: this.#cache.lastSeq + this.events.length + staged.length + 1,
          run_seq: run.lastRunSeq + 1,
          run_id: run.id,
          type: event.type,
          at: this.#at,
          payload: event.payload,
          hash: link(run.head, text),
        } as { -readonly [Key in keyof StoredEvent]: StoredEvent[Key] };
        if (id !== undefined) stored.sub_agent_id = id;
        applyToRun(run, stored as StoredEvent);
        staged.push(stored as StoredEvent);
        texts.push(text);
      }
      this.#accept(run, append, staged, texts);
      this.outcomes.push(staged);
    } catch (error) {
      this.#rewind(mark.before, mark.previous);
      this.outcomes.push(error instanceof Error ? error : new Error(String(error)));
    }
  }

  undo(): void {
    this.#rewind(0, 0);
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

  #remember(run: RunState): void {
    const { task, application, workspace, budgetTokens, worker, fence, startedAt } = run;
    const { outcome, finishedAt, lastRunSeq, head } = run;
    this.#before.push({
      run,
      fields: { task, application, workspace, budgetTokens, worker, fence, startedAt, outcome, finishedAt, lastRunSeq, head },
    });
  }

  #accept(run: RunState, append: Append, staged: readonly StoredEvent[], texts: string[]): void {
    for (const [index, event] of staged.entries()) {
      this.#addToBatch(run, event, texts[index] ?? "");
      this.events.push(event);
      const id = event.sub_agent_id;
      if (event.type === "run.started") this.movedRuns.set(run, true);
      else if (event.type === "run.resumed" || event.type === "run.finished") {
        this.movedRuns.set(run, this.movedRuns.get(run) ?? false);
      } else if (event.type === "agent.asked" || event.type === "agent.answered") {
        this.asks.push([run, event]);
      } else if (event.type === "agent.subagent_created" && id !== undefined) {
        this.movedDelegations.set(id, { run, contract: append.contracts?.[id] });
      } else if (id !== undefined && event.type.startsWith("agent.subagent_")) {
        if (!this.movedDelegations.has(id)) this.movedDelegations.set(id, { run, contract: undefined });
      }
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

  #rewind(before: number, previous: number): void {
    for (let index = this.#previous.length - 1; index >= previous; index--) {
      const change = this.#previous[index];
      if (change === undefined) continue;
      if (change.delegation === undefined) change.run.delegations.delete(change.id);
      else change.run.delegations.set(change.id, change.delegation);
    }
    for (let index = this.#before.length - 1; index >= before; index--) {
      const change = this.#before[index];
      if (change) Object.assign(change.run, change.fields);
    }
    this.#previous.length = previous;
    this.#before.length = before;
  }
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
    ? new MandateError("storage-full", "The disk that holds the database is full.", { cause: error })
    : new MandateError("database-unusable", `The database refused a write (${message}).`, {
        cause: error,
      });
}

function ignore(): void {}
