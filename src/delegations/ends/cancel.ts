import type { Cause } from "../../events/cause.ts";
import type { CancelOutcome } from "../../ports/delegator.ts";
import type { LiveDelegation } from "../live-delegation.ts";
import { endWork } from "../work.ts";
import { closeWith } from "./close.ts";
import { failure } from "./ending.ts";

/**
 * Cancels a delegation that this process works on, and everything below it. It is acknowledged
 * when the log says so; from then on nothing in that subtree begins.
 */
export async function cancelLive(agent: LiveDelegation, cause: Cause): Promise<CancelOutcome> {
  // Somebody was faster: another cancel, a deadline, the end itself.
  if (agent.process.end.isEnding || agent.work.stopReason !== null) {
    await agent.process.end.whenClosed();
    await agent.process.end.closing?.catch(() => undefined);
    return "already_terminal";
  }
  agent.work.stop(cause);
  // What is being merged comes to its end first; then it has ended by itself, or can be.
  await agent.process.end.merging?.promise;
  try {
    await closeWith(agent, failure(cause));
    await agent.process.end.closing;
  } catch (error) {
    // Its own work has been left: it ends here, as it would have there, or as soon as it can be.
    await endWork(agent, error);
    if (agent.run.delegations.abandoned.includes(agent)) throw error;
  }
  return agent.process.end.result?.closeReason === "cancelled" ? "cancelled" : "already_terminal";
}
