import { Suspended } from "../ends/ending.ts";
import { isAtWork, type LiveDelegation } from "../live-delegation.ts";
import { endWork } from "../work.ts";

/**
 * Has an agent and everybody below it rest. When it resolves, that is in the log: nothing begins in
 * that subtree until somebody resumes the run.
 */
export async function pauseTree(agent: LiveDelegation): Promise<void> {
  const pausing = pauseAgent(agent);
  // Asked for only now: from here on it makes no more of them.
  const below = agent.process.children.map(pauseTree);
  await Promise.all([pausing, ...below]);
}

/** It alone: those below it are for the caller to see to. */
export async function pauseAgent(agent: LiveDelegation): Promise<void> {
  const { run } = agent;
  // What is being taken over comes to its end first.
  while (agent.process.end.merging !== null) await agent.process.end.merging.promise;
  if (agent.process.end.isEnding || agent.work.isParked || agent.work.stopReason !== null) return;
  const suspension = new Suspended({ code: "paused" });
  agent.work.suspend(suspension);
  if (!isAtWork(agent)) await endWork(agent, suspension);
  while (!agent.work.isParked && !agent.process.end.isEnding && !run.lost) await run.changed.next();
}
