import type { StoredEvent } from "../../events/event.ts";
import type { Append, Ownership, Store } from "../../ports/store.ts";
import type { Course } from "./course.ts";
import type { Recording } from "./recording.ts";

type Listener = (events: readonly StoredEvent[]) => void;

export interface ReplayStoreOptions {
  /** Empty, and used by no other caller: the replay is written here. */
  readonly memory: Store;
  /** The store of the recorded run; only read. */
  readonly source: Store;
  readonly recording: Recording;
  readonly course: Course;
}

/**
 * The store of a replay: it writes to `memory`, reports every append to the course, and reads other
 * runs from the store of the recorded one.
 */
export class ReplayStore {
  readonly store: Store;
  /** Ids of questions in the replay, by the recorded ones. */
  readonly asks = new Map<string, string>();
  readonly #feeds = new Map<string, Listener>();
  readonly #asked: Map<string, string[]>;
  #watcher: string | null = null;
  #fence = 0;
  #deadFence = 0;

  constructor({ course, memory, recording, source }: ReplayStoreOptions) {
    this.#asked = askedIn(recording);
    const isOurs = (id: string | undefined): boolean =>
      id === recording.runId || recording.delegations.has(id ?? "");
    const overrides: Partial<Store> = {
      append: (append) => {
        // The append of a dead worker never resolves.
        if (append.by !== "operator" && this.#isDead(append, course)) {
          return new Promise(() => undefined);
        }
        const appended = memory.append(append);
        for (const event of append.events) {
          if (event.type === "agent.asked") this.#match(event.sub_agent_id, event.payload.ask_id);
        }
        const [first] = append.events;
        if (first?.type === "run.started" || first?.type === "run.resumed") {
          this.#fence = first.payload.fence;
        }
        // A conditional append may be refused, and its listeners are called before the course.
        if (append.ifRunSeq === undefined) course.see(append.events);
        else appended.then(() => setImmediate(() => course.see(append.events)), ignore);
        return appended;
      },
      readRun: (runId) => (isOurs(runId) ? memory : source).readRun(runId),
      readContract: (id) => (isOurs(id) ? memory : source).readContract(id),
      readEvents: (query) => {
        if (this.#watcher !== null) return nothing();
        return (isOurs(query.runId ?? query.delegationId) ? memory : source).readEvents(query);
      },
      readText: (hash) => source.readText(hash),
      subscribe: (listener) => {
        if (this.#watcher === null) return memory.subscribe(listener);
        this.#feeds.set(this.#watcher, listener);
        return () => undefined;
      },
      // The worker of the replay is alive: its death is only simulated.
      claimRun: (runId) => claim(this.store, runId),
    };
    this.store = new Proxy(memory, {
      get(target, key) {
        const own: unknown = Reflect.get(overrides, key);
        if (own !== undefined) return own;
        const value: unknown = Reflect.get(target, key);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }

  readonly recordedAsk = (id: string): string => {
    for (const [recorded, again] of this.asks) if (again === id) return recorded;
    return id;
  };

  /** From here on, nothing that the present owner of the run appends is written. */
  killWorker(): void {
    this.#deadFence = this.#fence;
    // The old subscriptions end: recovered watchers subscribe again.
    this.#feeds.clear();
  }

  /** A subscription made by `start` is this watcher's: it gets only the recorded events, by `show`. */
  whileStarting<Result>(watcher: string, start: () => Result): Result {
    this.#watcher = watcher;
    try {
      return start();
    } finally {
      this.#watcher = null;
    }
  }

  /** False: the watcher has not subscribed yet. */
  show(watcher: string, events: readonly StoredEvent[]): boolean {
    const feed = this.#feeds.get(watcher);
    feed?.(events);
    return feed !== undefined;
  }

  #isDead({ by, events: [first] }: Append, course: Course): boolean {
    if (by !== "operator" && by.fence <= this.#deadFence) return true;
    const id = first?.sub_agent_id;
    return id !== undefined && course.isBeyondDeath(id);
  }

  #match(delegationId = "", askId: string): void {
    const recorded = this.#asked.get(delegationId)?.shift();
    if (recorded !== undefined) this.asks.set(recorded, askId);
  }
}

function askedIn({ events }: Recording): Map<string, string[]> {
  const asked = new Map<string, string[]>();
  for (const event of events) {
    if (event.type !== "agent.asked") continue;
    const { payload, sub_agent_id: id = "" } = event;
    asked.set(id, [...(asked.get(id) ?? []), payload.ask_id]);
  }
  return asked;
}

async function claim(store: Store, runId: string): Promise<Ownership | undefined> {
  const run = await store.readRun(runId);
  if (run === undefined || run.outcome !== null) return undefined;
  const owner = { worker: store.ownership.worker, fence: run.fence + 1 };
  await store.append({ runId, by: owner, events: [{ type: "run.resumed", payload: owner }] });
  return owner;
}

function ignore(): void {}

async function* nothing(): AsyncIterable<StoredEvent> {}
