import type { EventPayloads } from "../events/event.ts";
import type { LiveDelegation } from "./live-delegation.ts";
import { event } from "./live-delegation.ts";

/** Its first attempt begins, if it has not begun before: the log says where it works. */
export function beginWork(agent: LiveDelegation): void {
  if (agent.state.status !== "created") return;
  const of = agent.contract.execution.max_retries + 1;
  agent.record(
    event(agent, "agent.subagent_started", startedWith(agent)),
    event(agent, "agent.subagent_attempt", { attempt: 1, of }),
  );
}

function startedWith({ copy, workspace }: LiveDelegation): EventPayloads["agent.subagent_started"] {
  const strategy = workspace?.isolation ?? "none";
  if (copy === null) return { strategy };
  const branch = `mandate/${copy.id}`;
  return { strategy, worktree_path: copy.root, branch, base_ref: copy.base };
}
