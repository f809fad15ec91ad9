import {
  ownerOfDecision,
  type RunOwners,
  runOwnersOf,
} from "../../../control/access/run-owners.ts";
import { storeSeenBy } from "../../../control/access/store-seen-by.ts";
import type { Owner, Principal } from "../../../control/records/principal.ts";
import type { StoredEvent } from "../../../events/event.ts";
import type { InboxItem } from "../../../events/inbox-item.ts";
import { isControlEvent } from "../../../events/run-state.ts";
import { type Clock, systemClock } from "../../../ports/clock.ts";
import { controlRunId } from "../../../ports/identity.ts";
import type { Store } from "../../../ports/store.ts";
import { followInbox } from "../../../sessions/inbox.ts";
import type { SseConnection } from "./sse-client.ts";
import type { DeltaHub } from "./sse-deltas.ts";
import {
  defaultStreamLimits,
  firstAfter,
  SseFeed,
  type StreamLimits,
  type StreamRequest,
  storedEvents,
  storedInbox,
} from "./sse-feed.ts";
import { deltaFrame, type Entry, eventFrame, inboxFrame } from "./sse-ring.ts";

type Listener = (events: readonly StoredEvent[]) => void;

interface Delta {
  readonly delegationId: string;
  readonly text: string;
}

type Heard = StoredEvent | Delta;

export interface EventHubOptions {
  readonly limits?: Partial<StreamLimits> | undefined;
  readonly deltas?: DeltaHub | undefined;
  readonly clock?: Clock | undefined;
}

/**
 * The event source of all streams of a server. It receives every event of the store once, however
 * many streams there are. Within the commit it only queues the event; everything else runs later.
 */
export class EventHub {
  readonly events: SseFeed;
  readonly inbox: SseFeed;
  readonly limits: StreamLimits;
  readonly clock: Clock;
  readonly #store: Store;
  readonly #owners: RunOwners;
  readonly #listeners = new Set<Listener>();
  readonly #unsubscribe: () => void;
  readonly #deltas: DeltaHub | undefined;
  /** The run of each delegation with an open model request. */
  readonly #runs = new Map<string, string>();
  #heard: Heard[] = [];
  #cancelTurn: (() => void) | undefined;
  /** Set while owners are read: later events wait for it, so that the order is kept. */
  #reading: Promise<void> | undefined;
  #items: Promise<void> = Promise.resolve();
  /** Minus infinity, so that the first event is sent at once, wherever the clock starts. */
  #toldAt = Number.NEGATIVE_INFINITY;
  #deltaClients = 0;
  #unfollow: (() => void) | undefined;

  constructor(store: Store, options: EventHubOptions = {}) {
    this.#store = store;
    this.#owners = runOwnersOf(store);
    this.limits = { ...defaultStreamLimits, ...options.limits };
    this.clock = options.clock ?? systemClock;
    this.events = new SseFeed(storedEvents(store), this.limits, this.clock);
    this.inbox = new SseFeed(storedInbox(store), this.limits, this.clock);
    this.#deltas = options.deltas;
    options.deltas?.connect(
      () => this.#deltaClients > 0,
      (delegationId, text) => this.#hear([{ delegationId, text }]),
    );
    this.#unsubscribe = store.subscribe((events) => this.#publish(events));
  }

  /** Calls back with every event within the commit, so listeners must only count. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Serves a client of the event log until it disconnects. */
  async serveEvents(request: StreamRequest, connection: SseConnection): Promise<void> {
    const deltas = Number(request.wantsDeltas);
    this.#deltaClients += deltas;
    try {
      await this.events.serve(request, connection);
    } finally {
      this.#deltaClients -= deltas;
    }
  }

  /** The current end of the log. */
  async eventsEnd(): Promise<number> {
    if (this.#cancelTurn) this.#tell();
    await this.#reading;
    return this.events.end();
  }

  /** The current end of the inbox. The inbox is followed from the first call on. */
  inboxEnd(): Promise<number> {
    const heard = {
      ...this.#inboxStore(),
      subscribe: (listener: Listener) => this.listen(listener),
    };
    this.#unfollow ??= followInbox(heard, (item) => this.#tellItem(item));
    return this.inbox.end();
  }

  /** Whether an event with this number is stored, by any process. */
  async hasEvent(seq: number): Promise<boolean> {
    if (seq <= (await this.eventsEnd())) return true;
    return (await firstAfter(this.#store, seq - 1)) !== undefined;
  }

  findRun(id: string, principal: Principal): Promise<string | undefined> {
    return storeSeenBy(this.#store, principal).findRun(id);
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
    // Model output from before these events is sent before them.
    this.#deltas?.flush();
    this.#hear(events);
    for (const listener of this.#listeners) listener(events);
  }

  #hear(what: readonly Heard[]): void {
    for (const one of what) this.#heard.push(one);
    this.#cancelTurn ??= this.#afterRest(() => this.#tell());
  }

  #afterRest(act: () => void): () => void {
    const ms = this.#toldAt + restMs - this.clock.monotonic();
    if (ms > 0) {
      const timer = this.clock.after(ms, act);
      return () => timer.cancel();
    }
    const immediate = setImmediate(act);
    return () => clearImmediate(immediate);
  }

  #tell(): void {
    this.#cancelTurn?.();
    this.#cancelTurn = undefined;
    this.#toldAt = this.clock.monotonic();
    const heard = this.#heard;
    this.#heard = [];
    if (this.#reading === undefined && (this.events.size === 0 || this.#isKnown(heard))) {
      this.#pass(heard);
      return;
    }
    const reading = this.#readOwners(heard, this.#reading).then((isRead) => {
      if (isRead) this.#pass(heard);
      else passOver(this.events, heard.findLast((one) => "seq" in one)?.seq ?? 0);
      if (this.#reading === reading) this.#reading = undefined;
    });
    this.#reading = reading;
  }

  /** Whether the owners of all these runs are in memory; they decide who may receive the events. */
  #isKnown(heard: readonly Heard[]): boolean {
    return this.#runsOf(heard).every((id) => this.#owners.known(id) !== undefined);
  }

  /**
   * Waits for the read before it, so that the order is kept; false: the store could not be read.
   */
  async #readOwners(heard: readonly Heard[], before: Promise<void> | undefined): Promise<boolean> {
    await before;
    try {
      await Promise.all(this.#runsOf(heard).map((id) => this.#owners.of(id)));
      return true;
    } catch {
      return false;
    }
  }

  #runsOf(heard: readonly Heard[]): readonly string[] {
    const ids = new Set<string>();
    for (const one of heard) {
      const id = "seq" in one ? one.run_id : this.#runs.get(one.delegationId);
      if (id !== undefined && id !== controlRunId) ids.add(id);
    }
    return [...ids];
  }

  #pass(heard: readonly Heard[]): void {
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
    // Sequence numbers have no gaps: missing events are read from the store.
    if (known !== undefined && first.seq > known + 1) this.events.skipTo(first.seq - 1);
    if (this.events.size === 0) this.events.skipTo(last.seq);
    else this.events.push(events.map((event) => entryOfEvent(event, this.#ownerOf(event))));
  }

  #ownerOf(event: StoredEvent): Owner {
    return isControlEvent(event.type) ? ownerOfDecision(event) : this.#owners.known(event.run_id);
  }

  #tellItem(item: InboxItem): void {
    this.#items = this.#items.then(async () => {
      try {
        this.inbox.push([entryOfItem(item, await this.#owners.of(item.runId))]);
      } catch {
        passOver(this.inbox, item.id);
      }
    });
  }

  /** The process that sends a model request first writes a reservation event. */
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
    const owner = this.#owners.known(runId);
    this.events.offer({ runId, delegationId, type: "delta", owner, frame });
  }
}

/** Without owners nothing can be filtered here, so each client reads the events from the store. */
function passOver(feed: SseFeed, to: number): void {
  feed.skipTo(to);
  feed.push([]);
}

/** A single event is sent at once; in a burst, one write to a client carries many events. */
const restMs = 10;

function entryOfEvent(event: StoredEvent, owner: Owner): Entry {
  return {
    owner,
    id: event.seq,
    runId: event.run_id,
    delegationId: event.sub_agent_id,
    type: event.type,
    frame: eventFrame(event),
  };
}

function entryOfItem(item: InboxItem, owner: Owner): Entry {
  const { id, runId, delegationId, kind } = item;
  return { id, runId, delegationId, type: kind, owner, frame: inboxFrame(item) };
}
