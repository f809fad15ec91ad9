import { useEffect, useSyncExternalStore } from "react";
import { applyToRun, emptyRun, type RunState } from "../../../src/events/run-state.ts";
import type { FollowedEvent } from "../../../src/surfaces/client/mandate-client.ts";
import { type DelegationNotes, noteEvent } from "./delegation-notes.ts";
import { live } from "./live.ts";
import { readStoredEvents } from "./read-stored-events.ts";
import { type RunDetail, RunDetails } from "./run-details.ts";

/** How often it is drawn while what is stored is being read. */
const fillingMs = 500;
/** Before what is still missing is read once more. */
const rereadMs = 250;
const detailEveryMs = 15_000;

/**
 * One run, folded from its events. What is stored is read once; what happens afterwards comes with
 * the page's subscription. Events of a run are numbered without gaps, so it shows when one is
 * missing, and then what is missing is read.
 */
export class RunFeed {
  readonly state: RunState;
  readonly events: FollowedEvent[] = [];
  readonly notes = new Map<string, DelegationNotes>();
  /** All that was stored when the page was opened has been read. */
  isComplete = false;
  /** Why the run cannot be shown. */
  error: unknown;
  version = 0;
  readonly #early = new Map<number, FollowedEvent>();
  readonly #listeners = new Set<() => void>();
  readonly #details: RunDetails;
  #reading: AbortController | undefined;
  #notice: ReturnType<typeof setTimeout> | undefined;
  #heardAt = Date.now();
  #end: () => void = () => undefined;

  constructor(runId: string) {
    this.state = emptyRun(runId);
    this.#details = new RunDetails(runId, {
      onChange: () => this.#change(),
      onError: (error) => {
        if (this.events.length === 0) this.error = error;
        this.#change();
      },
      isStale: (detail) => {
        if (detail === undefined) return this.error === undefined;
        return detail.state === "running" && this.state.outcome !== null;
      },
    });
  }

  get runId(): string {
    return this.state.id;
  }

  /** What only contracts and workers know; undefined until it was asked for. */
  get detail(): RunDetail | undefined {
    return this.#details.value;
  }

  readonly getVersion = (): number => this.version;

  readonly subscribe = (listener: () => void): (() => void) => {
    if (this.#listeners.size === 0) this.#begin();
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#end();
    };
  };

  /** Asks again for what events do not tell. */
  askDetail(restMs?: number): void {
    // A server takes longer for this request than for everything that is being read, so it comes afterwards.
    if (this.#reading === undefined) this.#details.ask(restMs);
  }

  #begin(): void {
    const stop = live.listen({
      onEvents: (events) => {
        let isMissing = false;
        for (const event of events) {
          if (event.run_id !== this.runId) continue;
          if (!this.#take(event)) isMissing = true;
          // The event was read already: listeners get all later ones, so nothing is left to read.
          if (event.run_seq <= this.state.lastRunSeq) this.#reading?.abort();
        }
        if (isMissing) void this.#read();
      },
      onGap: () => void this.#read(),
      onBack: () => {
        if (this.error === undefined) return;
        this.error = undefined;
        void this.#read();
      },
    });
    const watch = setInterval(() => {
      const isQuiet = Date.now() - this.#heardAt > detailEveryMs;
      if (this.state.outcome === null && isQuiet && !document.hidden) this.askDetail(0);
    }, detailEveryMs);
    this.#end = () => {
      stop();
      clearInterval(watch);
      this.#details.stop();
      this.#reading?.abort();
      this.#reading = undefined;
    };
    if (this.state.outcome !== null && this.detail === undefined) this.askDetail(0);
    void this.#read();
  }

  /** Until nothing is stored beyond what was read; later events go to all listeners. */
  async #read(): Promise<void> {
    if (this.#reading || this.state.outcome !== null) return;
    const reading = new AbortController();
    this.#reading = reading;
    try {
      await live.opened;
      await readStoredEvents({
        runId: this.runId,
        lastSeq: () => this.events.at(-1)?.seq ?? 0,
        signal: reading.signal,
        onEvent: (event) => {
          const { run_seq: last } = event;
          this.#take(event);
          // Reading stops where the run has finished or the live stream has brought the later events.
          return this.state.outcome !== null || this.state.lastRunSeq > last;
        },
      });
    } catch (error) {
      if (this.events.length === 0) this.error = error;
    } finally {
      // The reader signed out, or another one signed in.
      if (this.#reading === reading) this.#finishReading();
    }
  }

  #finishReading(): void {
    this.#reading = undefined;
    this.isComplete = true;
    this.askDetail(0);
    this.#change();
    if (this.#early.size > 0) setTimeout(() => void this.#read(), rereadMs);
  }

  /** False when something before it is missing. */
  #take(event: FollowedEvent): boolean {
    const expected = this.state.lastRunSeq + 1;
    if (event.run_seq < expected) return true;
    if (event.run_seq > expected) {
      this.#early.set(event.run_seq, event);
      return this.#reading !== undefined;
    }
    this.#apply(event);
    for (let next = this.#early.get(expected + 1); next; next = this.#early.get(next.run_seq + 1)) {
      this.#early.delete(next.run_seq);
      this.#apply(next);
    }
    return true;
  }

  #apply(event: FollowedEvent): void {
    try {
      applyToRun(this.state, event);
    } catch (error) {
      // A log that was tampered with is shown as far as it makes sense.
      this.error ??= error;
      this.state.lastRunSeq = event.run_seq;
    }
    this.events.push(event);
    this.#heardAt = Date.now();
    noteEvent(this.notes, event);
    const { type } = event;
    if (type === "agent.subagent_created" || type === "run.resumed" || type === "run.finished") {
      this.askDetail();
    }
    this.#change();
  }

  /** A large tree is drawn less often, and while much is being read rarely. */
  #change(): void {
    const isFilling = this.#reading !== undefined && this.version > 0;
    const restMs = isFilling ? fillingMs : Math.min(30 + this.state.delegations.size / 20, 300);
    this.#notice ??= setTimeout(() => {
      this.#notice = undefined;
      this.version += 1;
      for (const listener of [...this.#listeners]) listener();
    }, restMs);
  }
}

const feeds = new Map<string, RunFeed>();
const mostFeeds = 3;

/** All viewers of a run share one feed; the last few feeds are kept, so that going back is quick. */
function feedOf(runId: string): RunFeed {
  const known = feeds.get(runId);
  if (known !== undefined) return known;
  const feed = new RunFeed(runId);
  feeds.set(runId, feed);
  const [oldest] = feeds.keys();
  if (feeds.size > mostFeeds && oldest !== undefined) feeds.delete(oldest);
  return feed;
}

export function useRunFeed(runId: string): RunFeed {
  const feed = feedOf(runId);
  useSyncExternalStore(feed.subscribe, feed.getVersion);
  useEffect(() => {
    if (feed.error !== undefined && feed.events.length === 0) feeds.delete(runId);
  }, [feed, runId]);
  return feed;
}
