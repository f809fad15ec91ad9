import { useEffect, useSyncExternalStore } from "react";
import { applyToRun, emptyRun, type RunState } from "../../../src/events/run-state.ts";
import type { FollowedEvent, Operations } from "../../../src/surfaces/client/mandate-client.ts";
import { client } from "./client.ts";
import { type DelegationNotes, noteEvent } from "./delegation-notes.ts";
import { live } from "./live.ts";

export type RunDetail = Operations["getRun"]["reply"];

/** After so long without another stored event, it is asked whether there are more. */
const silenceMs = 250;
/** How often it is drawn while what is stored is being read. */
const fillingMs = 500;
/** Caps and interruptions are not in the events. */
const detailRestMs = 1000;
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
  /** What only contracts and workers know; undefined until it was asked for. */
  detail: RunDetail | undefined;
  /** All that was stored when the page was opened has been read. */
  isComplete = false;
  /** It cannot be shown, and why. */
  error: unknown;
  version = 0;
  readonly #early = new Map<number, FollowedEvent>();
  readonly #listeners = new Set<() => void>();
  #reading: AbortController | undefined;
  #notice: ReturnType<typeof setTimeout> | undefined;
  #detailTimer: ReturnType<typeof setTimeout> | undefined;
  #heardAt = Date.now();
  #end: () => void = () => undefined;

  constructor(runId: string) {
    this.state = emptyRun(runId);
  }

  get runId(): string {
    return this.state.id;
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
  askDetail(restMs = detailRestMs): void {
    // It takes a server longer than everything that is being read: afterwards, then.
    if (this.#reading) return;
    this.#detailTimer ??= setTimeout(async () => {
      try {
        this.detail = await client.getRun({ runId: this.runId });
        this.#change();
      } catch (error) {
        if (this.events.length === 0) this.error = error;
        this.#change();
      }
      this.#detailTimer = undefined;
      if (this.#lacksDetail()) this.askDetail();
    }, restMs);
  }

  #begin(): void {
    const stop = live.listen({
      onEvents: (events) => {
        let isMissing = false;
        for (const event of events) {
          if (event.run_id === this.runId && !this.#take(event)) isMissing = true;
        }
        if (isMissing) void this.#read();
      },
      onGap: () => void this.#read(),
    });
    const watch = setInterval(() => {
      const isQuiet = Date.now() - this.#heardAt > detailEveryMs;
      if (this.state.outcome === null && isQuiet && !document.hidden) this.askDetail(0);
    }, detailEveryMs);
    this.#end = () => {
      stop();
      clearInterval(watch);
      clearTimeout(this.#detailTimer);
      this.#detailTimer = undefined;
      this.#reading?.abort();
      this.#reading = undefined;
    };
    if (this.state.outcome !== null && this.detail === undefined) this.askDetail(0);
    void this.#read();
  }

  /** Until nothing is stored beyond what was read; what comes then is told to everybody. */
  async #read(): Promise<void> {
    if (this.#reading || this.state.outcome !== null) return;
    const reading = new AbortController();
    const { signal } = reading;
    this.#reading = reading;
    let silence: ReturnType<typeof setTimeout> | undefined;
    const waitForMore = (): void => {
      clearTimeout(silence);
      silence = setTimeout(async () => {
        const isMore = await this.#isMoreStored(signal).catch(() => true);
        if (isMore && !signal.aborted) waitForMore();
        else reading.abort();
      }, silenceMs);
    };
    try {
      await live.opened;
      const { runId } = this;
      waitForMore();
      for await (const event of client.events({ runId, after: this.#lastSeq, signal })) {
        this.#take(event);
        if (this.state.outcome !== null) break;
        waitForMore();
      }
    } catch (error) {
      if (this.events.length === 0) this.error = error;
    } finally {
      clearTimeout(silence);
      // Nobody may look any more, or somebody else again.
      if (this.#reading === reading) this.#finishReading();
    }
  }

  get #lastSeq(): number {
    return this.events.at(-1)?.seq ?? 0;
  }

  /** A server that has much to do is silent for a while: silence alone says nothing. */
  async #isMoreStored(signal: AbortSignal): Promise<boolean> {
    const after = this.#lastSeq;
    const { items } = await client.listRunEvents(
      { runId: this.runId, after, limit: 1 },
      { signal },
    );
    return items.length > 0;
  }

  #finishReading(): void {
    this.#reading = undefined;
    this.isComplete = true;
    this.askDetail(0);
    this.#change();
    if (this.#early.size > 0) setTimeout(() => void this.#read(), silenceMs);
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

  #lacksDetail(): boolean {
    const { detail, state } = this;
    if (detail === undefined) return this.error === undefined;
    return detail.state === "running" && state.outcome !== null;
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

/** The same feed for all who show a run; the last few are kept, so that going back is quick. */
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
