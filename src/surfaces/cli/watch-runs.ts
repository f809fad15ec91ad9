import type { StoredEvent } from "../../events/event.ts";
import type { Store } from "../../ports/store.ts";
import type { Display } from "./display.ts";
import { RunView } from "./run-view.ts";

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
