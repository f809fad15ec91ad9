import type { NewEvent } from "../events/event.ts";
import type { DelegationResult } from "../ports/delegator.ts";
import type { Agent } from "./agent.ts";
import { oneLine } from "./conclude.ts";
import type { LiveRun } from "./live-run.ts";

/**
 * The run ends with its root. It succeeded when the root did and no child's failure was passed
 * over: every failed child's result must have reached the agent that delegated to it.
 */
export function runFinished(
  run: LiveRun,
  root: Agent | null,
  result: DelegationResult | null,
): NewEvent[] {
  run.finished = true;
  const overlooked = [...run.agents.values()].filter(
    (agent) => agent !== root && agent.result?.status !== "completed" && !hasArrived(agent),
  );
  const failed = result !== null && result.status !== "completed";
  const reason = failed
    ? `${result.closeReason}: ${oneLine(result.result)}`
    : overlooked.length > 0
      ? `the failure of ${overlooked.map(({ id }) => id).join(", ")} never reached its caller`
      : "every delegation is closed";
  const outcome = failed || overlooked.length > 0 ? "failed" : "succeeded";
  return [{ type: "run.finished", payload: { outcome, reason } }];
}

/** With the failure of an agent that was told its caller, what fell with it is told as well. */
function hasArrived(agent: Agent): boolean {
  const { delivered } = agent.run;
  for (let one: Agent | null = agent; one !== null; one = one.parent) {
    if (one.result?.status !== "completed" && delivered.has(one.id)) return true;
  }
  return false;
}
