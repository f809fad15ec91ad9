import { event } from "../agent-event.ts";
import type { LiveRun } from "../live-run.ts";

/** A sentence for an agent of these runs, about what is around it; who is ending needs none. */
export function tellAgent(runs: readonly LiveRun[], id: string, message: string): void {
  for (const run of runs) {
    const agent = run.agents.get(id);
    if (run.isSpread && run.here !== agent) continue;
    if (agent === undefined || agent.isEnding || agent.stopReason !== null) continue;
    if (agent.suspension !== null) continue;
    agent.record(event(agent, "agent.interjected", { from: "mcp", severity: "info", message }));
  }
}
