import type { StoredEvent } from "../../events/event.ts";
import type { Store } from "../../ports/store.ts";
import { describeDelta } from "../../sessions/describe-delta.ts";

/** What a watcher is shown at once. */
export interface Batch {
  readonly lines: readonly string[];
  /** The last event that it tells about. */
  readonly upTo: number;
}

/**
 * What happens in one session, from a certain event on: first what the log has, then what is added
 * to it. Gathered until somebody takes it.
 */
export class WatchFeed {
  readonly #store: Store;
  readonly #watched: string;
  readonly #lines: string[] = [];
  readonly #unsubscribe: () => void;
  #upTo: number;
  #early: StoredEvent[] | null = [];
  #wake: (() => void) | null = null;

  constructor(store: Store, watched: string, after: number) {
    this.#store = store;
    this.#watched = watched;
    this.#upTo = after;
    this.#unsubscribe = store.subscribe((events) => {
      for (const event of events) {
        if (event.sub_agent_id !== watched) continue;
        if (this.#early) this.#early.push(event);
        else this.#add(event);
      }
    });
  }

  /** Takes in what happened before anybody watched. */
  async begin(): Promise<void> {
    for await (const event of this.#store.readEvents({ delegationId: this.#watched })) {
      this.#add(event);
    }
    const early = this.#early ?? [];
    this.#early = null;
    for (const event of early) this.#add(event);
  }

  /** Resolves when there is something to take. */
  async something(): Promise<void> {
    if (this.#lines.length > 0) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }

  take(): Batch {
    return { lines: this.#lines.splice(0), upTo: this.#upTo };
  }

  close(): void {
    this.#unsubscribe();
  }

  #add(event: StoredEvent): void {
    if (event.seq <= this.#upTo) return;
    this.#upTo = event.seq;
    const line = describeDelta(event);
    if (line === undefined) return;
    this.#lines.push(line);
    this.#wake?.();
    this.#wake = null;
  }
}
