import type { StoredEvent } from "../../../events/event.ts";
import type { InboxItem } from "../../../events/inbox-item.ts";
import { followInbox } from "../../../inbox/follow-inbox.ts";
import type { Store } from "../../../ports/store.ts";
import type { SseConnection } from "./sse-connection.ts";
import type { DeltaHub } from "./sse-deltas.ts";
import { SseFeed, type StreamRequest } from "./sse-feed.ts";
import { deltaFrame, eventFrame, inboxFrame } from "./sse-frame.ts";
import { defaultStreamLimits, type StreamLimits } from "./sse-limits.ts";
import type { Entry } from "./sse-ring.ts";
import { firstAfter, storedEvents, storedInbox } from "./sse-stored-log.ts";

type HubStore = Pick<Store, "subscribe" | "readEvents" | "readInbox" | "findRun">;
type Listener = (events: readonly StoredEvent[]) => void;

interface Delta {
  readonly delegationId: string;
  readonly text: string;
}

/**
 * The one ear of a server. It hears every event of the store once and tells all streams, however
 * many there are. What it does within a commit is to remember: the rest has a turn of its own.
 */
export class EventHub {
  readonly events: SseFeed;
  readonly inbox: SseFeed;
  readonly limits: StreamLimits;
  readonly #store: HubStore;
  readonly #listeners = new Set<Listener>();
  readonly #unsubscribe: () => void;
  readonly #deltas: DeltaHub | undefined;
  /** The runs of those who ask a model now. */
  readonly #runs = new Map<string, string>();
  #heard: (StoredEvent | Delta)[] = [];
  #cancelTurn: (() => void) | undefined;
  #toldAt = 0;
  #deltaClients = 0;
  #unfollow: (() => void) | undefined;

  constructor(
    store: HubStore,
    options: { limits?: Partial<StreamLimits>; deltas?: DeltaHub } = {},
  ) {
    this.#store = store;
    this.limits = { ...defaultStreamLimits, ...options.limits };
    this.events = new SseFeed(storedEvents(store), this.limits);
    this.inbox = new SseFeed(storedInbox(store), this.limits);
    this.#deltas = options.deltas;
    options.deltas?.connect(
      () => this.#deltaClients > 0,
      (delegationId, text) => this.#hear([{ delegationId, text }]),
    );
    this.#unsubscribe = store.subscribe((events) => this.#publish(events));
  }

  /** Calls back with every event, in the commit: for those who only count. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Serves a client of the log until it is gone. */
  async serveEvents(request: StreamRequest, connection: SseConnection): Promise<void> {
    const deltas = Number(request.wantsDeltas);
    this.#deltaClients += deltas;
    try {
      await this.events.serve(request, connection);
    } finally {
      this.#deltaClients -= deltas;
    }
  }

  /** Where the log ends by now. */
  eventsEnd(): Promise<number> {
    if (this.#cancelTurn) this.#tell();
    return this.events.end();
  }

  /** Where the inbox ends, heard of from now on. Nobody reads it for us before somebody asks. */
  inboxEnd(): Promise<number> {
    const heard = {
      ...this.#inboxStore(),
      subscribe: (listener: Listener) => this.listen(listener),
    };
    this.#unfollow ??= followInbox(heard, (item) => this.inbox.push([entryOfItem(item)]));
    return this.inbox.end();
  }

  /** Whether an event with this number was stored, by whomever. */
  async hasEvent(seq: number): Promise<boolean> {
    if (seq <= (await this.eventsEnd())) return true;
    return (await firstAfter(this.#store, seq - 1)) !== undefined;
  }

  findRun(id: string): Promise<string | undefined> {
    return this.#store.findRun(id);
  }

  close(): void {
    this.#unsubscribe();
    this.#unfollow?.();
    this.#cancelTurn?.();
    this.#listeners.clear();
    this.events.close();
    this.inbox.close();
  }

  #inboxStore(): Pick<Store, "readInbox"> {
    return { readInbox: (query) => this.#store.readInbox(query) };
  }

  #publish(events: readonly StoredEvent[]): void {
    // What was said before this happened is told before it.
    this.#deltas?.flush();
    this.#hear(events);
    for (const listener of this.#listeners) listener(events);
  }

  #hear(what: readonly (StoredEvent | Delta)[]): void {
    for (const one of what) this.#heard.push(one);
    this.#cancelTurn ??= afterwards(this.#toldAt + restMs - performance.now(), () => this.#tell());
  }

  #tell(): void {
    this.#cancelTurn?.();
    this.#cancelTurn = undefined;
    this.#toldAt = performance.now();
    const heard = this.#heard;
    this.#heard = [];
    let events: StoredEvent[] = [];
    for (const one of heard) {
      if ("seq" in one) {
        events.push(one);
        continue;
      }
      this.#tellEvents(events);
      events = [];
      this.#tellDelta(one);
    }
    this.#tellEvents(events);
  }

  #tellEvents(events: readonly StoredEvent[]): void {
    const [first] = events;
    const last = events.at(-1);
    if (first === undefined || last === undefined) return;
    if (this.#deltas !== undefined) for (const event of events) this.#noteRun(event);
    const known = this.events.last;
    // Numbers have no gaps: what we were not told of is read from the store.
    if (known !== undefined && first.seq > known + 1) this.events.skipTo(first.seq - 1);
    if (this.events.size === 0) this.events.skipTo(last.seq);
    else this.events.push(events.map(entryOfEvent));
  }

  /** Every request to a model is announced by the process that makes it. */
  #noteRun(event: StoredEvent): void {
    const id = event.sub_agent_id;
    if (id === undefined) return;
    if (event.type === "agent.budget_reserved") this.#runs.set(id, event.run_id);
    else if (event.type === "agent.subagent_closed") this.#runs.delete(id);
  }

  #tellDelta({ delegationId, text }: Delta): void {
    const runId = this.#runs.get(delegationId);
    if (runId === undefined) return;
    const frame = deltaFrame(runId, delegationId, text);
    this.events.offer({ runId, delegationId, type: "delta", frame });
  }
}

/** What comes alone is told at once; in a burst, a write to each client is for many events. */
const restMs = 10;

function afterwards(ms: number, act: () => void): () => void {
  if (ms > 0) {
    const timer = setTimeout(act, ms);
    return () => clearTimeout(timer);
  }
  const immediate = setImmediate(act);
  return () => clearImmediate(immediate);
}

function entryOfEvent(event: StoredEvent): Entry {
  return {
    id: event.seq,
    runId: event.run_id,
    delegationId: event.sub_agent_id,
    type: event.type,
    frame: eventFrame(event),
  };
}

function entryOfItem(item: InboxItem): Entry {
  const { id, runId, delegationId, kind } = item;
  return { id, runId, delegationId, type: kind, frame: inboxFrame(item) };
}
