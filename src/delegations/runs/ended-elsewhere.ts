import { resultOf } from "../../sessions/delegation-result.ts";
import { retireCopy } from "../changes/take-over.ts";
import type { LiveDelegation } from "../live-delegation.ts";

/** Somebody closed an agent that this process worked on: it stops where it is. */
export async function endedElsewhere(agent: LiveDelegation): Promise<void> {
  agent.process.end.isEnding = true;
  agent.stop({ code: "ended_outside" });
  await closedElsewhere(agent);
}

/** Whoever waits for an agent gets the result that the log has of it, if it has one. */
export async function closedElsewhere(agent: LiveDelegation): Promise<void> {
  const { id, run } = agent;
  const state = await run.parts.store.readRun(run.id);
  const result = state && resultOf(state, id);
  if (!result) return;
  agent.adopt(state.delegations.get(id) ?? agent.state);
  agent.process.end.closed(result);
  if (!run.lost) retireCopy(agent);
}
