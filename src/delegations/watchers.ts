import type { StoredEvent } from "../events/event.ts";
import type { Store } from "../ports/store.ts";
import { describeDelta, describeDeltas } from "../sessions/describe-delta.ts";
import { closeWith, endWatcher } from "./ends/close.ts";
import type { Ending } from "./ends/ending.ts";
import { event, isWatcher, type LiveDelegation } from "./live-delegation.ts";
import { type Started, startDelegation } from "./start/start-delegation.ts";

/** What a watcher is shown at once, in characters. */
const batchSize = 8000;

/** Starts a watcher of the session of `watches`. */
export async function startWatcher(watches: LiveDelegation, profile: string): Promise<Started> {
  const { contract, id, run } = watches;
  const watched = contract.profile.id;
  if (isWatcher(watches)) {
    const reason = `${id} is a watcher itself. Have the session watched that it watches: ${contract.parent.watches}`;
    return { rule: "watch", reason };
  }
  const task = `Watch the session of ${watched}, whose task is: ${contract.step.description}`;
  const request = { task, profile, title: `Watch ${watched}` };
  const caller = { caller: null, callId: null };
  return startDelegation({
    ...caller,
    run,
    request,
    way: "watch",
    watches,
    step: run.delegations.nextStep++,
  });
}

/** The open watchers of a session that have this profile. */
export function watchersOf(
  { id, run }: LiveDelegation,
  profile: string,
): readonly LiveDelegation[] {
  return run.delegations.topLevel.filter(
    ({ contract, process }) =>
      contract.parent.watches === id && contract.profile.id === profile && !process.end.isEnding,
  );
}

/**
 * Runs a watcher: it sees the session's events in batches, one per interval, and may remark on
 * them. It closes with the session, or alone when an attempt of its own fails.
 */
export async function watch(
  watcher: LiveDelegation,
  attempt: (watcher: LiveDelegation) => Promise<Ending>,
): Promise<void> {
  const { contract, run, said } = watcher;
  const { limits, store } = run.parts;
  const watched = contract.parent.watches ?? "";
  closeWithSession(watcher, run.delegations.byId.get(watched));
  const feed = new WatchFeed(store, watched, said.watchedUpTo);
  try {
    for (;;) {
      const { lines, upTo } = await watcher.work.interruptible(feed.next());
      const message = `What happened in the session that you watch:\n\n${describeDeltas(lines, batchSize)}\n\nInterject if you must; otherwise answer with one word.`;
      const shown = { from: "session", severity: "info", message, up_to: upTo } as const;
      watcher.record(event(watcher, "agent.interjected", shown));
      const ending = await attempt(watcher);
      if (ending.kind === "failure" || ending.truncated) return await closeWith(watcher, ending);
      await watcher.work.sleep(limits.watchIntervalMs);
    }
  } finally {
    feed.close();
  }
}

/** The run closes watchers of its root; watchers of other sessions close when these do. */
function closeWithSession(watcher: LiveDelegation, watched: LiveDelegation | undefined): void {
  if (watched === undefined || watched === watcher.run.delegations.root) return;
  // If that cannot be written, the end of the run closes the watcher.
  void watched.process.end
    .whenClosed()
    .then(() => endWatcher(watcher))
    .catch(() => undefined);
}

/** The events of one session as lines: first what the log has, then what the store reports. */
class WatchFeed {
  readonly #unsubscribe: () => void;
  readonly #reported: StoredEvent[] = [];
  #stored: AsyncIterable<StoredEvent> | null;
  #upTo: number;
  #wake: (() => void) | null = null;

  constructor(store: Store, watched: string, after: number) {
    this.#upTo = after;
    this.#unsubscribe = store.subscribe((events) => {
      const reported = events.filter(({ sub_agent_id: id }) => id === watched);
      this.#reported.push(...reported);
      if (reported.length > 0) this.#wake?.();
    });
    this.#stored = store.readEvents({ delegationId: watched, after });
  }

  /** Resolves when there is something to show. `upTo`: the last event that the lines tell about. */
  async next(): Promise<{ readonly lines: readonly string[]; readonly upTo: number }> {
    const lines: string[] = [];
    for await (const event of this.#stored ?? []) this.#add(event, lines);
    this.#stored = null;
    for (;;) {
      for (const event of this.#reported.splice(0)) this.#add(event, lines);
      if (lines.length > 0) return { lines, upTo: this.#upTo };
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  close(): void {
    this.#unsubscribe();
  }

  #add(event: StoredEvent, lines: string[]): void {
    // An event that was stored while the log was read is reported as well.
    if (event.seq <= this.#upTo) return;
    this.#upTo = event.seq;
    const line = describeDelta(event);
    if (line !== undefined) lines.push(line);
  }
}
