import type { DispatchedWork } from "../ports/dispatcher.ts";
import type { Agent } from "./agent.ts";
import type { LiveRun } from "./live-run.ts";
import { isWatcher } from "./watchers/watch.ts";
import { work } from "./work.ts";

/** Makes an agent known to its run. */
export function enlist(run: LiveRun, agent: Agent): void {
  run.agents.set(agent.id, agent);
  if (agent.parent === null) run.topLevel.push(agent);
  else {
    agent.parent.children ??= [];
    insertByStep(agent.parent.children, agent);
  }
}

/** It was refused when it was written: there is no such agent. */
export function delist({ id, parent, run }: Agent): void {
  run.agents.delete(id);
  run.joining.delete(id);
  if (parent?.children) parent.children = parent.children.filter((child) => child.id !== id);
}

/** Who needs a copy takes longer to be made, and is no later child for that. */
function insertByStep(children: Agent[], child: Agent): void {
  const step = child.contract.parent.step_idx;
  let place = children.length;
  while (place > 0 && (children[place - 1]?.contract.parent.step_idx ?? 0) > step) place--;
  children.splice(place, 0, child);
}

/**
 * Has a delegation of a spread run worked on, here or anywhere. The root is started when everything
 * that belongs to it is there, and watchers go where the session is that they watch.
 */
export function dispatch(agent: Agent): void {
  const { run } = agent;
  // What cannot be put into the queue now is found by whoever looks for what nobody works on.
  if (agent.parent !== null) run.parts.dispatcher?.dispatch(workOf(agent)).catch(warn);
  else if (isWatcher(agent) && run.here !== null) queue(agent);
}

export function workOf({ contract, id }: Pick<Agent, "contract" | "id">): DispatchedWork {
  const { depth, run_id: runId } = contract.parent;
  const { model, profile } = contract;
  return { runId, delegationId: id, depth, profile: profile.id, provider: model.provider };
}

/** Waits for a slot and then works; a child that ended meanwhile lets the slot go on. */
export function queue(agent: Agent): void {
  const { scheduler } = agent.run.parts;
  // A watcher mostly waits, and must not keep those whom it watches from working.
  if (isWatcher(agent)) {
    void work(agent);
    return;
  }
  scheduler.enter(() => {
    if (agent.isEnding || agent.isParked || agent.run.lost) {
      scheduler.leave();
      return;
    }
    agent.time.hasSlot = true;
    void work(agent);
  });
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error));
}
