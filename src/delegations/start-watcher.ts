import type { Agent } from "./agent.ts";
import { type Started, startDelegation } from "./start-delegation.ts";

/** Has somebody look on at an agent's session. */
export async function startWatcher(watches: Agent, profile: string): Promise<Started> {
  const { contract, run } = watches;
  const who = contract.profile.id;
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
