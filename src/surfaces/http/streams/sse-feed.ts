import { maySee, type Principal, seesAllRuns } from "../../../control/records/principal.ts";
import type { Clock, Timer } from "../../../ports/clock.ts";
import { type ClientSource, type DropReason, SseClient, type StoredFrame } from "./sse-client.ts";
import type { SseConnection } from "./sse-connection.ts";
import type { StreamLimits } from "./sse-limits.ts";
import { type AboutEntry, type Entry, FrameRing } from "./sse-ring.ts";

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
