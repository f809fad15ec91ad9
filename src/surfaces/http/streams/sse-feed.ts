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

/** What streams may cost. The defaults are what the guide promises. */
export interface StreamLimits {
  /** So much of what happened last is kept for all clients together. */
  readonly ringBytes: number;
  /** A client that is further behind than this, and has taken nothing for `lagMs`, is dropped. */
  readonly lagBytes: number;
  readonly lagMs: number;
  /** One that is being told the past is dropped when it takes nothing for so long. */
  readonly stallMs: number;
  readonly heartbeatMs: number;
  /** How often to look for the ones above. */
  readonly sweepMs: number;
  readonly perPrincipal: number;
  readonly all: number;
}

export const defaultStreamLimits: StreamLimits = {
  ringBytes: 4 * 1024 * 1024,
  lagBytes: 2 * 1024 * 1024,
  // A burst puts everybody behind for some milliseconds: only who does not read is too slow.
  lagMs: 1000,
  stallMs: 30_000,
  heartbeatMs: 15_000,
  sweepMs: 500,
  perPrincipal: 64,
  all: 1024,
};

/** What a client may and wants to hear of; what is absent leaves nothing out. */
export interface StreamFilter {
  readonly principal: Principal;
  readonly runId?: string | undefined;
  readonly delegationId?: string | undefined;
  readonly types?: ReadonlySet<string> | undefined;
}

export interface StoredLog {
  /** The greatest id that is stored. */
  findEnd(): Promise<number>;
  /** What is stored after a place, in order. */
  read(after: number, filter: StreamFilter): AsyncIterable<StoredFrame>;
}

export interface StreamRequest {
  readonly after: number;
  readonly filter: StreamFilter;
  /** Also what is told while it arrives, and never stored. */
  readonly wantsDeltas: boolean;
}

/** One log, its live end, and all who follow it. */
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

  /** The greatest id that was heard of; undefined before anything was. */
  get last(): number | undefined {
    return this.#ring.last;
  }

  /** Where the log ends by now. */
  async end(): Promise<number> {
    if (this.#ring.last === undefined) {
      const end = await this.#log.findEnd();
      // What was heard of meanwhile is newer than what was found.
      if (this.#ring.last === undefined) this.#ring.reset(end);
    }
    return this.#ring.last ?? 0;
  }

  /** Nobody listens, or something was missed: what comes after this is kept again. */
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

  /** Serves one client until it is gone. */
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
      // Reading failed: the client comes back from where it was.
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

/** Whoever reads holds a page of the store: two hundred who come back at once take turns. */
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

/** The log of events, as a stream reads what is over. */
export function storedEvents(store: Store): StoredLog {
  return {
    findEnd: () => findLastSeq(store),
    async *read(after, filter) {
      const { delegationId, runId } = filter;
      // Where only one of them is asked for, those of all others are not even passed.
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
 * The number of the last event. A store is not asked for that, so it is searched for: from the last
 * item of the inbox on, which mostly is near the end, in steps that grow and then halve.
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

/** The number of the first event after another one; undefined: there is none. */
export async function firstAfter(store: EventReader, seq: number): Promise<number | undefined> {
  for await (const event of store.readEvents({ after: seq })) return event.seq;
  return undefined;
}

const pageSize = 200;

/** The inbox, whose items are in order like events and are fewer. */
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
