import type { StoredEvent } from "../../events/event.ts";
import { isWorkedOn } from "../../events/is-worked-on.ts";
import { applyToRun, emptyRun, type RunState } from "../../events/run-state.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Store } from "../../ports/store.ts";
import type { Display } from "./display.ts";

/** What people want to see of a delegation beside its state. */
export interface AgentNotes {
  /** The cap of its contract, as soon as that was read. */
  budget: number | null;
  refusals: number;
  /** The number of attempts that it has in all. */
  attempts: number;
  /** How often it was taken up after an interruption. */
  resumptions: number;
}

/** A run as it is shown: the fold of its events, kept up to date while they come in. */
export class RunView {
  readonly state: RunState;
  /** Nobody works on it although it is open. */
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
    view.isInterrupted = view.state.outcome === null && !(await isWorkedOn(store, view.state));
    return view;
  }

  /** True when the event was news; the same event twice is not. */
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

  /** Contracts are kept beside the log: their caps are read once, when a delegation is new. */
  async readBudgets(): Promise<void> {
    for (const id of this.state.delegations.keys()) {
      const notes = this.notesOf(id);
      if (notes.budget !== null) continue;
      const contract = await this.#store.readContract(id).catch(() => undefined);
      notes.budget = contract?.budget.tokens ?? 0;
    }
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

/** Keeps views of some runs up to date, and tells about every event that is news. */
export class RunWatch {
  readonly views = new Map<string, RunView>();
  readonly #store: Store;
  readonly #display: Display;
  readonly #onEvent: (event: StoredEvent, view: RunView) => void;
  readonly #unsubscribe: () => void;
  /** What came in while a run's past was still being read. */
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
      for (const event of events) this.#hear(event);
    });
  }

  /** Of a run that was taken up, only what happened since then is news. */
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
    for (const event of early) this.#hear(event);
    return view;
  }

  stop(): void {
    this.#unsubscribe();
  }

  #hear(event: StoredEvent): void {
    const early = this.#early.get(event.run_id);
    if (early) {
      early.push(event);
      return;
    }
    const view = this.views.get(event.run_id);
    if (view === undefined || !view.apply(event)) return;
    if (event.type === "agent.subagent_created") void view.readBudgets();
    this.#onEvent(event, view);
  }
}
