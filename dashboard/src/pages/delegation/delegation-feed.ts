import { useMemo, useSyncExternalStore } from "react";
import type { Delegation } from "../../../../src/events/delegation.ts";
import { apply, create } from "../../../../src/events/lifecycle.ts";
import type { FollowedEvent } from "../../../../src/surfaces/client/mandate-client.ts";
import { client } from "../../data/client.ts";
import { live } from "../../data/live.ts";

const perPage = 200;
const restMs = 60;

/**
 * One delegation, folded from its own events: those that are stored are read by pages, those that
 * happen come with the page's subscription. What comes while a page is read waits behind it.
 */
export class DelegationFeed {
  readonly id: string;
  readonly events: FollowedEvent[] = [];
  delegation: Delegation | undefined;
  isComplete = false;
  error: unknown;
  version = 0;
  readonly #listeners = new Set<() => void>();
  #waiting: FollowedEvent[] = [];
  #reading: AbortController | undefined;
  #notice: ReturnType<typeof setTimeout> | undefined;
  #stop: () => void = () => undefined;

  constructor(id: string) {
    this.id = id;
  }

  readonly getVersion = (): number => this.version;

  readonly subscribe = (listener: () => void): (() => void) => {
    if (this.#listeners.size === 0) this.#begin();
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#stop();
      this.#reading?.abort();
    };
  };

  #begin(): void {
    this.#stop = live.listen({
      onEvents: (events) => {
        const own = events.filter(({ sub_agent_id }) => sub_agent_id === this.id);
        if (this.#reading) this.#waiting.push(...own);
        else for (const event of own) this.#take(event);
      },
      onGap: () => void this.#read(),
      onBack: () => {
        if (this.error !== undefined) void this.#read();
      },
    });
    void this.#read();
  }

  async #read(): Promise<void> {
    if (this.#reading) return;
    const reading = new AbortController();
    this.#reading = reading;
    try {
      // Before that, something could happen between what is read and what is heard.
      await live.opened;
      for (let isMore = true; isMore; ) {
        const after = this.events.at(-1)?.seq ?? 0;
        const { signal } = reading;
        const about = { delegationId: this.id, after, limit: perPage };
        const { items, nextCursor } = await client.listDelegationEvents(about, { signal });
        // The API describes what events are to all programs; here their types are known.
        for (const event of items as unknown as readonly FollowedEvent[]) this.#take(event);
        isMore = nextCursor !== null && items.length > 0;
      }
      this.error = undefined;
    } catch (error) {
      if (!reading.signal.aborted) this.error = error;
    } finally {
      this.#reading = undefined;
      this.isComplete ||= !reading.signal.aborted;
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const event of waiting) this.#take(event);
      this.#change();
    }
  }

  #take(event: FollowedEvent): void {
    if (event.seq <= (this.events.at(-1)?.seq ?? 0)) return;
    this.events.push(event);
    try {
      if (event.type === "agent.subagent_created") this.delegation = create(event);
      else if (this.delegation) this.delegation = apply(this.delegation, event);
    } catch {
      // A log that was tampered with is shown as far as it makes sense.
    }
    this.#change();
  }

  #change(): void {
    this.#notice ??= setTimeout(() => {
      this.#notice = undefined;
      this.version += 1;
      for (const listener of [...this.#listeners]) listener();
    }, restMs);
  }
}

export function useDelegationFeed(id: string): DelegationFeed {
  const feed = useMemo(() => new DelegationFeed(id), [id]);
  useSyncExternalStore(feed.subscribe, feed.getVersion);
  return feed;
}
