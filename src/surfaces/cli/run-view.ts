import type { StoredEvent } from "../../events/event.ts";
import { isRunInterrupted } from "../../events/is-worked-on.ts";
import { applyToRun, emptyRun, type RunState } from "../../events/run-state.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Store } from "../../ports/store.ts";
import type { Display } from "./display.ts";

/** What is shown of a delegation in addition to its state. */
export interface AgentNotes {
  /** The token budget of its contract; null until the contract is read. */
  budget: number | null;
  refusals: number;
  /** How many attempts the contract allows. */
  attempts: number;
  /** How often the delegation was resumed or recovered. */
  resumptions: number;
}

/** More delegations than a person reads; in a larger run the others show no budget. */
const mostBudgets = 500;

/** The state of a run, updated event by event, with notes on each delegation. */
export class RunView {
  readonly state: RunState;
  /** Open, and no process works on it. */
  isInterrupted = false;
  readonly #notes = new Map<string, AgentNotes>();
  readonly #store: Store;

  constructor(store: Store, runId: string) {
    this.#store = store;
    this.state = emptyRun(runId);
  }

  static async read(store: Store, runId: string): Promise<RunView> {
    const view = new RunView(store, runId);
    for await (const event of store.readEvents({ runId })) view.apply(event);
    if (view.state.lastRunSeq === 0)
      throw new MandateError("unknown-run", `There is no run ${runId}.`);
    view.isInterrupted = await isRunInterrupted(store, view.state);
    return view;
  }

  /** True when the event is new; the same event twice is not. */
  apply(event: StoredEvent): boolean {
    if (event.run_id !== this.state.id || event.run_seq !== this.state.lastRunSeq + 1) return false;
    applyToRun(this.state, event);
    const id = event.sub_agent_id;
    if (id !== undefined) this.#note(this.notesOf(id), event);
    return true;
  }

  notesOf(id: string): AgentNotes {
    let notes = this.#notes.get(id);
    if (notes === undefined) {
      notes = { budget: null, refusals: 0, attempts: 1, resumptions: 0 };
      this.#notes.set(id, notes);
    }
    return notes;
  }

  /** Contracts are stored beside the log, one read for each: the first delegations show a budget. */
  async readBudgets(): Promise<void> {
    const first = [...this.state.delegations.keys()].slice(0, mostBudgets);
    for (const id of first) await this.#readBudget(id);
  }

  /** Reads the budget of a new delegation. */
  noteCreated(id: string): void {
    if (this.state.delegations.size <= mostBudgets) void this.#readBudget(id);
  }

  async #readBudget(id: string): Promise<void> {
    const notes = this.notesOf(id);
    if (notes.budget !== null) return;
    const contract = await this.#store.readContract(id).catch(() => undefined);
    notes.budget = contract?.budget.tokens ?? 0;
  }

  #note(notes: AgentNotes, event: StoredEvent): void {
    switch (event.type) {
      case "agent.tool_denied":
        notes.refusals += 1;
        break;
      case "agent.subagent_attempt":
        notes.attempts = event.payload.of;
        break;
      case "agent.resumed":
        notes.resumptions += 1;
        break;
      default:
    }
  }
}

/** Keeps the views of some runs up to date, and reports every new event. */
export class RunWatch {
  readonly views = new Map<string, RunView>();
  readonly #store: Store;
  readonly #display: Display;
  readonly #onEvent: (event: StoredEvent, view: RunView) => void;
  readonly #unsubscribe: () => void;
  /** Events that arrived while a run's past was still being read. */
  readonly #early = new Map<string, StoredEvent[]>();

  constructor(
    store: Store,
    display: Display,
    onEvent: (event: StoredEvent, view: RunView) => void,
  ) {
    this.#store = store;
    this.#display = display;
    this.#onEvent = onEvent;
    this.#unsubscribe = store.subscribe((events) => {
      for (const event of events) this.#receive(event);
    });
  }

  /** If the run was recovered or resumed, only the events since then are reported. */
  async add(runId: string): Promise<RunView> {
    const view = new RunView(this.#store, runId);
    const early: StoredEvent[] = [];
    this.#early.set(runId, early);
    let past: StoredEvent[] = [];
    for await (const event of this.#store.readEvents({ runId })) {
      if (!view.apply(event)) continue;
      if (event.type === "run.resumed") past = [];
      past.push(event);
    }
    await view.readBudgets();
    this.views.set(runId, view);
    this.#early.delete(runId);
    this.#display.add(view);
    for (const event of past) this.#onEvent(event, view);
    for (const event of early) this.#receive(event);
    return view;
  }

  stop(): void {
    this.#unsubscribe();
  }

  #receive(event: StoredEvent): void {
    const early = this.#early.get(event.run_id);
    if (early) {
      early.push(event);
      return;
    }
    const view = this.views.get(event.run_id);
    if (view === undefined || !view.apply(event)) return;
    if (event.type === "agent.subagent_created") view.noteCreated(event.sub_agent_id ?? "");
    this.#onEvent(event, view);
  }
}
