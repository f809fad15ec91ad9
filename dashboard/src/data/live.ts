import {
  type FollowedEvent,
  type LiveDelta,
  MandateApiError,
} from "../../../src/surfaces/client/mandate-client.ts";
import { onSessionChanged } from "./begin-session.ts";
import { client, onStreamNews } from "./client.ts";
import { ValueStore } from "./value-store.ts";

export type ConnectionStatus = "connecting" | "live" | "lost" | "signed-out";

export interface LiveListener {
  /** Every event, in order, exactly once. */
  readonly onEvents?: (events: readonly FollowedEvent[]) => void;
  /** A piece of what a model writes; it is not stored. */
  readonly onDelta?: (delta: LiveDelta) => void;
  /** Something may have been missed: load again what was loaded. */
  readonly onGap?: () => void;
  /** The server answers again: requests that failed can be repeated. */
  readonly onBack?: () => void;
}

/** Events are told together: a hundred of them a second are thirty renderings. */
const batchMs = 33;
const pauseMs = 3000;
/** Without a session, the page does not retry: a new sign-in notifies it. */
const signedOutMs = 60_000;

/**
 * The page's one subscription to all events. While it runs, it continues after the last event that
 * it gave; where it cannot, those who listen are told that there is a gap.
 */
class Live {
  readonly status = new ValueStore<ConnectionStatus>("connecting");
  readonly #listeners = new Set<LiveListener>();
  readonly #opened = Promise.withResolvers<void>();
  #place: number | undefined;
  #wasOpen = false;
  #hasGap = false;
  #waiting: FollowedEvent[] = [];
  #wake: (() => void) | undefined;

  constructor() {
    onStreamNews((news) => (news === "opened" ? this.#open() : this.#ask()));
    onSessionChanged((change) => (change === "begun" ? this.hurry() : location.assign("/")));
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.hurry();
    });
  }

  /** There is reason to believe that it works now. */
  hurry(): void {
    this.#wake?.();
  }

  /** Await this before loading a state, to miss no event after it. */
  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  listen(listener: LiveListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  onEvents(listener: (events: readonly FollowedEvent[]) => void): () => void {
    return this.listen({ onEvents: listener });
  }

  /** Never ends. A session that ended may be begun again in another tab: then this one continues. */
  async run(): Promise<never> {
    for (;;) {
      try {
        const stream = { after: this.#place, onDelta: this.#hearDelta };
        for await (const event of client.events(stream)) this.#hear(event);
      } catch (error) {
        this.#fail(error);
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        setTimeout(resolve, this.status.get() === "signed-out" ? signedOutMs : pauseMs);
      });
    }
  }

  #ask(): void {
    if (this.status.get() === "live") this.status.set("lost");
  }

  #open(): void {
    const hasGap = this.#hasGap || (this.#wasOpen && this.#place === undefined);
    this.#wasOpen = true;
    this.#hasGap = false;
    this.status.set("live");
    this.#opened.resolve();
    for (const { onBack, onGap } of [...this.#listeners]) (hasGap ? onGap : onBack)?.();
  }

  #fail(error: unknown): void {
    const { status } = error instanceof MandateApiError ? error : { status: 0 };
    // That place is of another log: the database was replaced.
    if (status === 400) {
      this.#place = undefined;
      this.#hasGap = true;
    }
    // The first connection has not been made yet.
    this.status.set(status === 401 || status === 403 ? "signed-out" : "lost");
  }

  readonly #hearDelta = (delta: LiveDelta): void => {
    // Events say where a text begins and ends: listeners get earlier events before the piece.
    if (this.#waiting.length > 0) this.#tell();
    for (const { onDelta } of [...this.#listeners]) onDelta?.(delta);
  };

  #hear(event: FollowedEvent): void {
    this.#place = event.seq;
    this.#waiting.push(event);
    if (this.#waiting.length === 1) setTimeout(() => this.#tell(), batchMs);
  }

  #tell(): void {
    const events = this.#waiting;
    if (events.length === 0) return;
    this.#waiting = [];
    for (const { onEvents } of [...this.#listeners]) onEvents?.(events);
  }
}

export const live = new Live();
