import type { LiveRun } from "../live-run.ts";

/** Ends those that hold a slot and do nothing, by the deadline that their contract gives them. */
export function stopIdle(runs: readonly LiveRun[], now: number): void {
  for (const run of runs) {
    for (const agent of run.agents.values()) {
      if (!agent.process.time.hasSlot || agent.process.lastActivity === 0) continue;
      const { idle } = agent.contract.deadlines;
      if (now - agent.process.lastActivity > idle) agent.stop({ code: "idle", ms: idle });
    }
  }
}
