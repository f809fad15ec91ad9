import { storeSeenBy } from "../../../control/access/store-seen-by.ts";
import { maySee, type Principal, seesAllRuns } from "../../../control/records/principal.ts";
import type { StoredEvent } from "../../../events/event.ts";
import type { Clock, Timer } from "../../../ports/clock.ts";
import type { EventQuery, Store } from "../../../ports/store.ts";
import {
  type ClientSource,
  type DropReason,
  SseClient,
  type SseConnection,
  type StoredFrame,
} from "./sse-client.ts";
import { type AboutEntry, type Entry, eventFrame, FrameRing, inboxFrame } from "./sse-ring.ts";

/** The limits of streams. The guide documents the defaults. */
export interface StreamLimits {
  /** The latest entries that are kept in memory, for all clients together. */
  readonly ringBytes: number;
  /** A client that is further behind than this and has read nothing for `lagMs` is dropped. */
  readonly lagBytes: number;
  readonly lagMs: number;
  /** A client that is reading stored entries is dropped when it reads nothing for so long. */
  readonly stallMs: number;
  readonly heartbeatMs: number;
  /** How often the limits of slow clients are checked. */
  readonly sweepMs: number;
  readonly perPrincipal: number;
  readonly all: number;
}

export const defaultStreamLimits: StreamLimits = {
  ringBytes: 4 * 1024 * 1024,
  lagBytes: 2 * 1024 * 1024,
  // A burst puts every client behind for some milliseconds, so only a longer delay counts.
  lagMs: 1000,
  stallMs: 30_000,
  heartbeatMs: 15_000,
  sweepMs: 500,
  perPrincipal: 64,
  all: 1024,
};

/** What a client may see and asked for; an absent field filters nothing. */
export interface StreamFilter {
  readonly principal: Principal;
  readonly runId?: string | undefined;
  readonly delegationId?: string | undefined;
  readonly types?: ReadonlySet<string> | undefined;
}

export interface StoredLog {
  /** The greatest stored id. */
  findEnd(): Promise<number>;
  /** The stored entries after a position, in order. */
  read(after: number, filter: StreamFilter): AsyncIterable<StoredFrame>;
}

export interface StreamRequest {
  readonly after: number;
  readonly filter: StreamFilter;
  /** The client wants streamed model output, too, which is never stored. */
  readonly wantsDeltas: boolean;
}

/** One log with its latest entries in memory, and all clients that follow it. */
export class SseFeed {
  readonly #log: StoredLog;
  readonly #limits: StreamLimits;
  readonly #clock: Clock;
  readonly #ring: FrameRing;
  readonly #readers = new ReadingTurns();
  readonly #clients = new Map<SseClient, StreamRequest>();
  readonly #dropped: Record<DropReason, number> = { lagging: 0, stalled: 0 };
  #sweeper: Timer | undefined;

  constructor(log: StoredLog, limits: StreamLimits, clock: Clock) {
    this.#log = log;
    this.#limits = limits;
    this.#clock = clock;
    this.#ring = new FrameRing(limits.ringBytes);
  }

  get size(): number {
    return this.#clients.size;
  }

  get dropped(): Readonly<Record<DropReason, number>> {
    return this.#dropped;
  }

  /** The greatest received id; undefined before the first one. */
  get last(): number | undefined {
    return this.#ring.last;
  }

  /** The current end of the log. */
  async end(): Promise<number> {
    if (this.#ring.last === undefined) {
      const end = await this.#log.findEnd();
      // An entry that arrived during the search is newer than its result.
      if (this.#ring.last === undefined) this.#ring.reset(end);
    }
    return this.#ring.last ?? 0;
  }

  /** Empties the ring without clients or after a gap: entries after `id` are kept from now on. */
  skipTo(id: number): void {
    if (id > (this.#ring.last ?? -1)) this.#ring.reset(id);
  }

  push(entries: readonly Entry[]): void {
    this.#ring.push(entries);
    for (const client of this.#clients.keys()) client.pump();
  }

  offer(entry: Omit<Entry, "id">): void {
    for (const [client, { filter, wantsDeltas }] of this.#clients) {
      if (wantsDeltas && isAbout(filter, entry)) client.offer(entry.frame);
    }
  }

  /** Serves one client until it disconnects. */
  async serve(request: StreamRequest, connection: SseConnection): Promise<void> {
    const { after, filter } = request;
    const source: ClientSource = {
      ring: this.#ring,
      read: (place) => this.#log.read(place, filter),
      readingTurn: () => this.#readers.take(),
      wants: wantsOf(filter),
    };
    const client = new SseClient(source, connection, after, this.#limits);
    this.#clients.set(client, request);
    this.#sweeper ??= this.#clock.every(this.#limits.sweepMs, () => this.#sweep()).unref();
    try {
      await client.run();
    } finally {
      // After a failed read the client reconnects and continues where it was.
      connection.end();
      this.#clients.delete(client);
      if (this.#clients.size === 0) {
        this.#sweeper?.cancel();
        this.#sweeper = undefined;
      }
    }
  }

  close(): void {
    for (const client of this.#clients.keys()) client.connection.end();
  }

  #sweep(): void {
    const now = this.#clock.monotonic();
    for (const client of this.#clients.keys()) {
      const reason = client.judge(now);
      if (reason === undefined) {
        client.keepAlive(now);
        continue;
      }
      this.#dropped[reason]++;
      client.connection.destroy();
    }
  }
}

/** Each reader holds a page of rows in memory, so many reconnecting clients take turns. */
const mostReaders = 8;

class ReadingTurns {
  #free = mostReaders;
  readonly #waiting: (() => void)[] = [];

  async take(): Promise<() => void> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return () => {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    };
  }
}

function wantsOf(filter: StreamFilter): ((entry: AboutEntry) => boolean) | null {
  const { delegationId, principal, runId, types } = filter;
  const isOfAll = runId === undefined && delegationId === undefined && types === undefined;
  if (isOfAll && seesAllRuns(principal)) return null;
  return (entry) => isAbout(filter, entry) && (types === undefined || types.has(entry.type));
}

function isAbout(
  { delegationId, principal, runId }: StreamFilter,
  entry: Pick<AboutEntry, "runId" | "delegationId" | "owner">,
): boolean {
  return (
    maySee(principal, entry.owner) &&
    (runId === undefined || entry.runId === runId) &&
    (delegationId === undefined || entry.delegationId === delegationId)
  );
}

type EventReader = Pick<Store, "readEvents" | "readInbox">;

/** The stored events, as a stream reads them. */
export function storedEvents(store: Store): StoredLog {
  return {
    findEnd: () => findLastSeq(store),
    async *read(after, filter) {
      const { delegationId, runId } = filter;
      // The store itself filters by run and delegation.
      const query: EventQuery = {
        after,
        ...(runId !== undefined && { runId }),
        ...(delegationId !== undefined && { delegationId }),
      };
      for await (const event of storeSeenBy(store, filter.principal).readEvents(query)) {
        yield { id: event.seq, frame: wants(filter, event) ? eventFrame(event) : null };
      }
    },
  };
}

function wants({ runId, delegationId, types }: StreamFilter, event: StoredEvent): boolean {
  return (
    (runId === undefined || event.run_id === runId) &&
    (delegationId === undefined || event.sub_agent_id === delegationId) &&
    (types === undefined || types.has(event.type))
  );
}

/**
 * The number of the last event. The store port has no query for it, so this searches: from the last
 * inbox item, which is usually near the end, in steps that double and then halve.
 */
async function findLastSeq(store: EventReader): Promise<number> {
  const [item] = await store.readInbox({ limit: 1 });
  let known = item?.id ?? 0;
  let step = 64;
  for (let next = await firstAfter(store, known + step); next !== undefined; step *= 2) {
    known = next;
    next = await firstAfter(store, known + step * 2);
  }
  let bound = known + step;
  while (known < bound) {
    const middle = Math.floor((known + bound) / 2);
    const next = await firstAfter(store, middle);
    if (next === undefined) bound = middle;
    else known = next;
  }
  return known;
}

/** The number of the first event after `seq`; undefined: `seq` is the last one. */
export async function firstAfter(store: EventReader, seq: number): Promise<number | undefined> {
  for await (const event of store.readEvents({ after: seq })) return event.seq;
  return undefined;
}

const pageSize = 200;

/** The stored inbox, whose items are ordered like events. */
export function storedInbox(store: Store): StoredLog {
  return {
    async findEnd() {
      const [item] = await store.readInbox({ limit: 1 });
      return item?.id ?? 0;
    },
    async *read(after, filter): AsyncIterable<StoredFrame> {
      const { principal, runId } = filter;
      const seen = storeSeenBy(store, principal);
      for (let place = after; ; ) {
        const items = await seen.readInbox({
          after: place,
          limit: pageSize,
          ...(runId !== undefined && { runId }),
        });
        for (const item of items) {
          const isWanted = filter.types === undefined || filter.types.has(item.kind);
          yield { id: item.id, frame: isWanted ? inboxFrame(item) : null };
          place = item.id;
        }
        if (items.length < pageSize) return;
      }
    },
  };
}
