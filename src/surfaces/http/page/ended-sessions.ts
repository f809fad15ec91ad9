import { unlessConflict } from "../../../ports/mandate-error.ts";
import type { ControlRecord } from "../../../ports/record-store.ts";
import type { Store } from "../../../ports/store.ts";

const resourceType = "ended-page-session";
/**
 * Most ended sessions in memory; above it, all sessions that expire before the oldest of them count
 * as ended.
 */
const mostEnded = 10_000;
const mostForgotten = 200;

export type EndedSessionStore = Pick<Store, "listRecords" | "changeRecords" | "subscribe">;

/**
 * Page sessions that were ended before they expired. A sealed session is valid on every server with
 * its key, so ended ones are stored as records. Every server is notified of them, and a request
 * only reads memory.
 */
export class EndedSessions {
  readonly #store: EndedSessionStore;
  readonly #longestMs: number;
  readonly #now: () => number;
  readonly #ended = new Map<string, number>();
  readonly #unsubscribe: () => void;
  /** Sessions that expire up to this time count as ended, also those that are not in memory. */
  #allUntil = 0;
  #loading: Promise<void> | undefined;

  constructor(store: EndedSessionStore, longestMs: number, now: () => number) {
    this.#store = store;
    this.#longestMs = longestMs;
    this.#now = now;
    const prefix = `${resourceType}/`;
    this.#unsubscribe = store.subscribe((events) => {
      for (const { payload, type } of events) {
        if (type !== "control.record_changed" || payload.after_hash === null) continue;
        if (!payload.record.startsWith(prefix)) continue;
        // The event does not have the expiry, so the longest possible one is assumed.
        this.#remember(payload.record.slice(prefix.length), this.#now() + this.#longestMs);
      }
    });
  }

  /** Throws when the store cannot be read: then the session is refused. */
  async has(name: string, until: number): Promise<boolean> {
    await this.#load();
    return until <= this.#allUntil || this.#ended.has(name);
  }

  /** Ended here at once, and on all other servers when this resolves. */
  async add(name: string, until: number): Promise<void> {
    this.#remember(name, until);
    const change = { resourceType, resourceId: name, expectedVersion: 0, value: { until } };
    // On a conflict another request ended the session first.
    await this.#store.changeRecords([change], "page").catch(unlessConflict);
  }

  close(): void {
    this.#unsubscribe();
  }

  /** Reads once what was ended before the subscription. */
  #load(): Promise<void> {
    this.#loading ??= this.#read(this.#store).catch((error: unknown) => {
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
    // On a conflict another server is deleting the same records.
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
