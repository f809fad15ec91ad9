import { event } from "../live-delegation.ts";
import type { LiveRun } from "../live-run.ts";

/** A sentence for an agent of these runs, about what is around it; who is ending needs none. */
export function tellAgent(runs: readonly LiveRun[], id: string, message: string): void {
  for (const run of runs) {
    const agent = run.agents.get(id);
    if (agent === undefined || run.execution.isRemote(agent)) continue;
    if (agent.process.end.isEnding || agent.stopReason !== null) continue;
    if (agent.suspension !== null) continue;
    agent.record(event(agent, "agent.interjected", { from: "mcp", severity: "info", message }));
  }
}
