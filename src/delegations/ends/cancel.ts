import type { CancelOutcome } from "../../ports/delegator.ts";
import type { Agent } from "../agent.ts";
import { endElsewhere, isElsewhere } from "../spread/elsewhere.ts";
import { endWork } from "../work.ts";
import { closeWith } from "./close.ts";
import { failure } from "./ending.ts";

/**
 * Cancels a delegation that this process works on, and everything below it. It is acknowledged
 * when the log says so; from then on nothing in that subtree begins.
 */
export async function cancelLive(agent: Agent, reason: string): Promise<CancelOutcome> {
  if (isElsewhere(agent)) return endElsewhere(agent, { code: "cancelled", error: reason });
  // Somebody was faster: another cancel, a deadline, the end itself.
  if (agent.isEnding || agent.stopReason !== null) {
    await agent.whenClosed();
    await agent.closing?.catch(() => undefined);
    return "already_terminal";
  }
  agent.stop("cancelled", reason);
  // What is being merged comes to its end first; then it has ended by itself, or can be.
  await agent.merging?.promise;
  try {
    await closeWith(agent, failure("cancelled", reason));
    await agent.closing;
  } catch (error) {
    // Its own work has been left: it ends here, as it would have there, or as soon as it can be.
    await endWork(agent, error);
    if (agent.run.abandoned.includes(agent)) throw error;
  }
  return agent.result?.closeReason === "cancelled" ? "cancelled" : "already_terminal";
}
