import type { Agent } from "../agent.ts";
import { Suspended } from "../ends/ending.ts";
import { endWork } from "../work.ts";

/**
 * Has an agent and everybody below it rest. When it resolves, that is in the log: nothing begins in
 * that subtree until somebody resumes the run.
 */
export async function pauseTree(agent: Agent): Promise<void> {
  const pausing = pauseAgent(agent);
  // Asked for only now: from here on it makes no more of them.
  const below = agent.children?.map(pauseTree) ?? [];
  await Promise.all([pausing, ...below]);
}

/** It alone: those below it are for the caller to see to. */
export async function pauseAgent(agent: Agent): Promise<void> {
  const { run } = agent;
  // What is being taken over comes to its end first.
  while (agent.merging !== null) await agent.merging.promise;
  if (agent.isEnding || agent.isParked || agent.stopReason !== null) return;
  const suspension = new Suspended("It is paused.", null);
  agent.suspend(suspension);
  if (!agent.isAtWork) await endWork(agent, suspension);
  while (!agent.isParked && !agent.isEnding && !run.lost) await run.stirred();
}
