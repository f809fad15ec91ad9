import { isWatcher, type LiveDelegation } from "./live-delegation.ts";
import { work } from "./work.ts";

/** Waits for a slot and then works; a child that ended meanwhile lets the slot go on. */
export function queue(agent: LiveDelegation): void {
  const { scheduler } = agent.run.parts;
  // A watcher mostly waits, and must not keep those whom it watches from working.
  if (isWatcher(agent)) {
    void work(agent);
    return;
  }
  scheduler.enter(() => {
    if (agent.process.end.isEnding || agent.work.isParked || agent.run.lost) {
      scheduler.leave();
      return;
    }
    agent.process.time.hasSlot = true;
    void work(agent);
  });
}
