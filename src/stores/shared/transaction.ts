import { checkOwner } from "../../events/check-owner.ts";
import type { Delegation } from "../../events/delegation.ts";
import type { NewEvent, StoredEvent } from "../../events/event.ts";
import { canonical, link } from "../../events/hash-chain.ts";
import { type InboxChange, inboxChangeOf } from "../../events/inbox-change.ts";
import { touchesInbox } from "../../events/inbox-item.ts";
import {
  decideRecordChange,
  type PreparedChange,
  type RecordStanding,
} from "../../events/record-change.ts";
import { type RootFacts, readRootFacts, rootIdOf } from "../../events/root-facts.ts";
import { applyToRun, type RunState } from "../../events/run-state.ts";
import { undoSpending } from "../../events/spending.ts";
import { summarize } from "../../events/summarize.ts";
import { runNumberOf } from "../../ports/identity.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Append } from "../../ports/store.ts";
import { maximumBatch } from "./event-batch.ts";
import { TamperedContract } from "./store-calls.ts";
import type { RecordStandings, WrittenRecord } from "./stored-rows.ts";
import { type Settlement, settlementOf } from "./usage-sql.ts";

/** What a transaction reads when it begins: run states in memory, and the last sequence number. */
export interface LogState {
  /** The current state of a run. Loads it, or creates an empty state for a new run. */
  stateOf(runId: string, isNew: boolean): RunState;
  readonly lastSeq: number;
}

/** Record changes whose events are decided from the stored records. */
export interface RecordChanges {
  readonly changes: readonly PreparedChange[];
  readonly actor: string;
}

interface Batch {
  readonly firstSeq: number;
  readonly run: number;
  readonly firstRunSeq: number;
  readonly texts: string[];
  hash: string;
}

interface MovedDelegation {
  readonly run: RunState;
  /** The stored text, where the transaction creates the delegation. */
  readonly contract: string | undefined;
  readonly root: RootFacts | undefined;
}

/** One attempt to write: applies events to the run states in memory and can undo that. */
export class Transaction {
  readonly events: StoredEvent[] = [];
  readonly outcomes: (readonly StoredEvent[] | Error)[] = [];
  readonly batches: Batch[] = [];
  readonly movedRuns = new Map<RunState, boolean>();
  readonly movedDelegations = new Map<string, MovedDelegation>();
  readonly asks: [RunState, StoredEvent<"agent.asked" | "agent.answered">][] = [];
  readonly inbox: InboxChange[] = [];
  readonly settlements: Settlement[] = [];
  readonly records = new Map<string, WrittenRecord>();
  readonly #log: LogState;
  readonly #recordRows: RecordStandings;
  readonly #at: number;
  readonly #undo: Undo[] = [];
  readonly #texts: string[] = [];
  #currentRun: RunState | undefined;

  constructor(log: LogState, recordRows: RecordStandings, at: number) {
    this.#log = log;
    this.#recordRows = recordRows;
    this.#at = at;
  }

  stage(append: Append, tampered: ReadonlySet<string>): void {
    const starts = append.events[0]?.type === "run.started";
    if (starts && runNumberOf(append.runId) === undefined) {
      this.outcomes.push(new MandateError("unknown-run", `"${append.runId}" is no id of a run.`));
      return;
    }
    const run = this.#stateOf(append.runId, starts);
    if (run === undefined) return;
    const mark = {
      undo: this.#undo.length,
      events: this.events.length,
      inbox: this.inbox.length,
    };
    this.#undo.push({
      run,
      id: undefined,
      delegation: undefined,
      before: beforeAppend(run, append),
    });
    try {
      checkOwner(run, append);
      for (const event of append.events) this.#stageOne(run, event, tampered);
    } catch (error) {
      this.#rewind(mark.undo);
      this.events.length = mark.events;
      this.#texts.length = mark.events;
      this.inbox.length = mark.inbox;
      this.outcomes.push(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    this.outcomes.push(this.events.slice(mark.events));
    for (let index = mark.events; index < this.events.length; index++)
      this.#accept(run, append, index);
  }

  /** Appends record changes to the control log: all of the changes take effect, or none. */
  stageChanges(append: Append, { changes, actor }: RecordChanges): void {
    let events: NewEvent[];
    try {
      events = changes.map((change) => decideRecordChange(this.#standingOf(change), change, actor));
    } catch (error) {
      // A refusal concerns this append only; an unreadable disk concerns the whole transaction.
      if (!(error instanceof MandateError)) throw error;
      this.outcomes.push(error);
      return;
    }
    this.stage({ ...append, events }, noneTampered);
    const outcome = this.outcomes.at(-1);
    if (outcome === undefined || outcome instanceof Error) return;
    for (const [index, change] of changes.entries()) {
      const event = outcome[index];
      if (event?.type !== "control.record_changed") continue;
      const { version } = event.payload;
      this.records.set(change.name, { ...change, version, actor, at: event.at });
    }
  }

  /** Refuses an append without staging it. */
  refuse(error: Error): void {
    this.outcomes.push(error);
  }

  get hasRefusals(): boolean {
    return this.outcomes.some((outcome) => outcome instanceof Error);
  }

  /** The runs whose root this transaction creates. */
  roots(): ReadonlyMap<RunState, RootFacts> {
    const roots = new Map<RunState, RootFacts>();
    for (const [id, { contract, root, run }] of this.movedDelegations) {
      if (contract === undefined || rootIdOf(run) !== id) continue;
      roots.set(run, root ?? readRootFacts(contract));
    }
    return roots;
  }

  undo(): void {
    this.#rewind(0);
  }

  /** The state of the record after everything that was staged before. */
  #standingOf(change: PreparedChange): RecordStanding {
    const staged = this.records.get(change.name);
    if (staged === undefined) return this.#recordRows.standingOf(change);
    const { text, version } = staged;
    return { text, version: text === null ? 0 : version, lastVersion: version };
  }

  /** Undefined when the log of this run cannot be read: only its append is refused. */
  #stateOf(runId: string, isNew: boolean): RunState | undefined {
    try {
      return this.#log.stateOf(runId, isNew);
    } catch (error) {
      if (!(error instanceof MandateError)) throw error;
      this.outcomes.push(error);
      return undefined;
    }
  }

  #stageOne(run: RunState, event: NewEvent, tampered: ReadonlySet<string>): void {
    const id = event.sub_agent_id;
    if (id !== undefined) {
      if (tampered.size > 0 && tampered.has(id) && !endsTampered(event))
        throw new TamperedContract(id);
      const last = this.#undo.at(-1);
      // Consecutive changes of one delegation need only one undo entry.
      if (last?.id !== id)
        this.#undo.push({ run, id, delegation: run.delegations.get(id), before: undefined });
    }
    const summary = summarize(event);
    const text = canonical(event, this.#at, summary);
    const seq = this.#log.lastSeq + this.events.length + 1;
    const run_seq = run.lastRunSeq + 1;
    const hash = link(run.head, text);
    const { type, payload } = event;
    const at = this.#at;
    // Two literals instead of a spread, because this runs for every event.
    const stored = (
      id === undefined
        ? { seq, run_seq, run_id: run.id, type, at, summary, payload, hash }
        : { seq, run_seq, run_id: run.id, sub_agent_id: id, type, at, summary, payload, hash }
    ) as StoredEvent;
    if (touchesInbox(type)) this.#applyForInbox(run, stored);
    else applyToRun(run, stored);
    this.events.push(stored);
    this.#texts.push(text);
  }

  #applyForInbox(run: RunState, event: StoredEvent): void {
    const id = event.sub_agent_id;
    const before = id === undefined ? undefined : run.delegations.get(id);
    applyToRun(run, event);
    const change = inboxChangeOf(event, run, before);
    if (change.item !== undefined || change.closes !== undefined) this.inbox.push(change);
  }

  #accept(run: RunState, append: Append, index: number): void {
    const event = this.events[index];
    if (event === undefined) return;
    this.#addToBatch(run, event, this.#texts[index] ?? "");
    const settlement = settlementOf(event);
    if (settlement !== undefined) this.settlements.push(settlement);
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
        if (id !== undefined) {
          const { contracts, root } = append;
          this.movedDelegations.set(id, { run, contract: contracts?.get(id), root });
        }
        break;
      case "agent.subagent_started":
      case "agent.subagent_waiting_for_merge":
      case "agent.subagent_completed":
      case "agent.subagent_failed":
      case "agent.subagent_closed":
        if (id !== undefined && !this.movedDelegations.has(id)) {
          this.movedDelegations.set(id, { run, contract: undefined, root: undefined });
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
        run: runNumberOf(run.id) ?? -1,
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
      if (id !== undefined) undoSpending(run, run.delegations.get(id), delegation);
      if (before) restore(run, before);
      else if (id !== undefined && delegation) run.delegations.set(id, delegation);
      else if (id !== undefined) run.delegations.delete(id);
    }
    this.#undo.length = mark;
  }
}

/** The sums are undone change by change, and stay as they are. */
function restore(run: RunState, before: Partial<RunState>): void {
  const { totals } = run;
  Object.assign(run, before);
  if (run.totals !== totals) run.totals = totals;
}

/** How to undo one change: of a delegation, or of the run's own fields before an append. */
interface Undo {
  readonly run: RunState;
  readonly id: string | undefined;
  readonly delegation: Delegation | undefined;
  readonly before: Partial<RunState> | undefined;
}

/** Most appends concern delegations; only the run's own events change more than its last event. */
function beforeAppend(run: RunState, { events }: Append): Partial<RunState> {
  const isAboutRun = events.some(({ type }) => type.startsWith("run."));
  return isAboutRun ? { ...run } : { lastRunSeq: run.lastRunSeq, head: run.head };
}

function endsTampered(event: Append["events"][number]): boolean {
  if (event.type === "agent.subagent_failed") return event.payload.code === "policy_denied";
  return event.type === "agent.subagent_closed" || event.type === "agent.budget_settled";
}

const noneTampered: ReadonlySet<string> = new Set();
