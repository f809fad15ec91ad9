import { describeDeltas } from "../../sessions/describe-delta.ts";
import { closeWith, endWatcher } from "../ends/close.ts";
import type { Ending } from "../ends/ending.ts";
import type { LiveDelegation } from "../live-delegation.ts";
import { event } from "../live-delegation.ts";
import { type Batch, WatchFeed } from "./watch-feed.ts";

/** What a watcher is shown at once, in characters. */
const batchSize = 8000;

/** Who of that profile watches an agent's session now. */
export function watchersOf(
  { id, run }: LiveDelegation,
  profile: string,
): readonly LiveDelegation[] {
  return run.topLevel.filter(
    ({ contract, process }) =>
      contract.parent.watches === id && contract.profile.id === profile && !process.end.isEnding,
  );
}

/**
 * A watcher's life: it is shown what happens in a session, in batches and not too often, and may
 * remark on it. It lives as long as that session, and ends alone when anything ends it.
 */
export async function watch(
  agent: LiveDelegation,
  attempt: (agent: LiveDelegation) => Promise<Ending>,
): Promise<void> {
  const { limits, store } = agent.run.parts;
  const watches = agent.contract.parent.watches ?? "";
  endWith(agent, agent.run.agents.get(watches));
  const feed = new WatchFeed(store, watches, agent.said.watchedUpTo);
  try {
    await feed.begin();
    for (;;) {
      await agent.interruptible(feed.something());
      show(agent, feed.take());
      const ending = await attempt(agent);
      if (ending.kind === "failure" || ending.truncated) return await closeWith(agent, ending);
      await agent.sleep(limits.watchIntervalMs);
    }
  } finally {
    feed.close();
  }
}

/** A run closes the watchers of its root with it; those of others end when these do. */
function endWith(agent: LiveDelegation, watched: LiveDelegation | undefined): void {
  if (watched === undefined || watched === agent.run.root) return;
  // Where that cannot be written, the end of the run closes it.
  void watched.process.end
    .whenClosed()
    .then(() => endWatcher(agent))
    .catch(() => undefined);
}

function show(agent: LiveDelegation, { lines, upTo }: Batch): void {
  const message = `What happened in the session that you watch:\n\n${describeDeltas(lines, batchSize)}\n\nInterject if you must; otherwise answer with one word.`;
  agent.record(
    event(agent, "agent.interjected", {
      from: "session",
      severity: "info",
      message,
      up_to: upTo,
    }),
  );
}
