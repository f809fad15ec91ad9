import type { ControlRecord } from "../../ports/record-store.ts";
import type { Store } from "../../ports/store.ts";

const resourceType = "ended-page-session";
/** Remembered at most; beyond, all that would end before the oldest of them has ended as well. */
const mostEnded = 10_000;
const mostForgotten = 200;

export type EndedSessionStore = Pick<Store, "listRecords" | "changeRecords" | "subscribe">;

/**
 * Sessions of pages that were ended before their time. A sealed session is good wherever its key is,
 * so each server has to know these: they are records, which all of them hear of, and what a request
 * asks is memory alone. Without a store they are those of this process.
 */
export class EndedSessions {
  readonly #store: EndedSessionStore | undefined;
  readonly #longestMs: number;
  readonly #now: () => number;
  readonly #ended = new Map<string, number>();
  readonly #unsubscribe: (() => void) | undefined;
  /** Sessions that last no longer than this have ended, whether they are remembered or not. */
  #allUntil = 0;
  #loading: Promise<void> | undefined;

  constructor(store: EndedSessionStore | undefined, longestMs: number, now: () => number) {
    this.#store = store;
    this.#longestMs = longestMs;
    this.#now = now;
    const prefix = `${resourceType}/`;
    this.#unsubscribe = store?.subscribe((events) => {
      for (const { payload, type } of events) {
        if (type !== "control.record_changed" || payload.after_hash === null) continue;
        if (!payload.record.startsWith(prefix)) continue;
        // How long it would have lasted is not said; longer than that it cannot be.
        this.#remember(payload.record.slice(prefix.length), this.#now() + this.#longestMs);
      }
    });
  }

  /** Throws when it cannot be known: then nobody is let in. */
  async has(name: string, until: number): Promise<boolean> {
    if (this.#store !== undefined) await this.#load(this.#store);
    return until <= this.#allUntil || this.#ended.has(name);
  }

  /** Here at once; where there is a store, for all others when this resolves. */
  async add(name: string, until: number): Promise<void> {
    this.#remember(name, until);
    if (this.#store === undefined) return;
    const change = { resourceType, resourceId: name, expectedVersion: 0, value: { until } };
    try {
      await this.#store.changeRecords([change], "page");
    } catch (error) {
      // Two that end the same one.
      if ((error as { readonly code?: unknown }).code !== "conflict") throw error;
    }
  }

  close(): void {
    this.#unsubscribe?.();
  }

  /** What was ended before we listened, once. */
  #load(store: EndedSessionStore): Promise<void> {
    this.#loading ??= this.#read(store).catch((error: unknown) => {
      this.#loading = undefined;
      throw error;
    });
    return this.#loading;
  }

  async #read(store: EndedSessionStore): Promise<void> {
    const over: ControlRecord[] = [];
    for (const record of await store.listRecords(resourceType)) {
      const until = untilOf(record) ?? this.#now() + this.#longestMs;
      if (until <= this.#now()) over.push(record);
      else this.#remember(record.resourceId, until);
    }
    const changes = over.slice(0, mostForgotten).map(({ resourceId, version }) => {
      return { resourceType, resourceId, expectedVersion: version, value: null };
    });
    // Another server may be tidying up as well: then it does it.
    if (changes.length > 0) await store.changeRecords(changes, "page").catch(() => undefined);
  }

  #remember(name: string, until: number): void {
    this.#ended.set(name, Math.min(until, this.#ended.get(name) ?? until));
    if (this.#ended.size <= mostEnded) return;
    for (const [one, end] of this.#ended) if (end <= this.#now()) this.#ended.delete(one);
    while (this.#ended.size > mostEnded) {
      const [oldest] = this.#ended;
      if (oldest === undefined) return;
      this.#ended.delete(oldest[0]);
      this.#allUntil = Math.max(this.#allUntil, oldest[1]);
    }
  }
}

function untilOf({ value }: ControlRecord): number | undefined {
  const until = (value as { readonly until?: unknown } | null)?.until;
  return typeof until === "number" ? until : undefined;
}
