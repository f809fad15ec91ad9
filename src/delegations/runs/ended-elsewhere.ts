import type { Agent } from "../agent.ts";
import { retireCopy } from "../changes/take-over.ts";
import { nothing } from "../turns/ledger.ts";
import { storedResult } from "./stored-result.ts";

/** Somebody closed an agent that this process worked on: it stops where it is. */
export async function endedElsewhere(agent: Agent): Promise<void> {
  agent.isEnding = true;
  agent.account.settle(agent.reservation, agent.reservation);
  agent.reservation = nothing;
  agent.stop("cancelled", "It was ended from outside.");
  await closedElsewhere(agent);
}

/** Whoever waits for an agent gets the result that the log has of it, if it has one. */
export async function closedElsewhere(agent: Agent): Promise<void> {
  const { id, run } = agent;
  const result = await storedResult(run.parts.store, run.id, id);
  if (result === null) return;
  agent.closed(result);
  if (!run.lost) retireCopy(agent);
}
