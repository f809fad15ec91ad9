import { isWatcher, type LiveDelegation } from "../live-delegation.ts";
import type { LiveRun } from "../live-run.ts";
import { resolveProfile, type Unresolved } from "../start/resolve-profile.ts";
import { type Started, startDelegation } from "../start/start-delegation.ts";

/** Has somebody look on at an agent's session. */
export async function startWatcher(watches: LiveDelegation, profile: string): Promise<Started> {
  const { contract, id, run } = watches;
  const who = contract.profile.id;
  if (isWatcher(watches)) {
    const reason = `${id} is a watcher itself. Have the session watched that it watches: ${contract.parent.watches}`;
    return { rule: "watch", reason };
  }
  return startDelegation({
    run,
    caller: null,
    request: {
      task: `Watch the session of ${who}, whose task is: ${contract.step.description}`,
      profile,
      title: `Watch ${who}`,
    },
    way: "watch",
    watches,
    callId: null,
    step: run.steps++,
  });
}

/** Why one of these cannot watch: asked before there is a run that nobody would know of. */
export function unfitWatcher(run: LiveRun, profiles: readonly string[]): Unresolved | undefined {
  for (const profile of profiles) {
    const request = { task: "watch", profile };
    const found = resolveProfile({
      run,
      caller: null,
      request,
      way: "watch",
      callId: null,
      step: 0,
    });
    if (!("profile" in found)) return found;
  }
  return undefined;
}

/** Those who look on from the beginning. A session that is over by then needs none of them. */
export async function startWatchers(
  watches: LiveDelegation,
  profiles: readonly string[],
): Promise<Unresolved | undefined> {
  for (const profile of profiles) {
    if (watches.process.end.isEnding) return undefined;
    const started = await startWatcher(watches, profile);
    if (!("agent" in started)) return started;
    try {
      await started.created;
    } catch (error) {
      if (!watches.process.end.isEnding) throw error;
    }
  }
  return undefined;
}
