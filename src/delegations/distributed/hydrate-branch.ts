import type { Delegation } from "../../events/delegation.ts";
import type { StoredEvent } from "../../events/event.ts";
import { childrenOf, type RunState } from "../../events/run-state.ts";
import { MergeOrder } from "../changes/merge-order.ts";
import type { CopyRole } from "../execution.ts";
import type { LiveDelegation } from "../live-delegation.ts";
import type { LiveRun } from "../live-run.ts";
import { countSteps, revive } from "../recovery/hydrate.ts";
import type { DistributedExecution } from "./distributed-execution.ts";

/**
 * Rebuilds the part of a spread run that one worker needs: a delegation as its log tells it, those
 * above it for what they hold it to, those whom it called for what becomes of them, and with the
 * root its watchers. Writes nothing.
 */
export async function hydrateBranch(
  branch: DistributedExecution,
  state: RunState,
  id: string,
): Promise<LiveDelegation> {
  const { run } = branch;
  branch.log = state;
  const above = lineOf(state, id);
  const self = above.pop();
  if (self === undefined) throw new Error(`run ${run.id} has no delegation ${id}`);
  for (const delegation of above) await know(run, state, delegation, [], true, "none");
  const eventsOf = await eventsFor(run, state, self);
  const agent = await know(run, state, self, eventsOf.get(id) ?? []);
  branch.here = agent;
  for (const child of childrenOf(state, id)) {
    // What was handed in is this worker's to judge, and to seal.
    const isHandedIn = child.status === "waiting_for_merge";
    const known = await know(
      run,
      state,
      child,
      eventsOf.get(child.id) ?? [],
      !isHandedIn,
      "caller",
    );
    if (known.copy !== null) {
      agent.process.merges ??= new MergeOrder();
      agent.process.merges.announce(child.stepIdx, false);
    }
  }
  if (self.parentId === null) {
    for (const watcher of childrenOf(state, null)) {
      if (watcher.id !== id) await know(run, state, watcher, eventsOf.get(watcher.id) ?? []);
    }
  }
  countSteps(run, state);
  return agent;
}

async function know(
  run: LiveRun,
  state: RunState,
  delegation: Delegation,
  events: readonly StoredEvent[],
  isElsewhere = false,
  role?: CopyRole,
): Promise<LiveDelegation> {
  const agent = await revive(run, state, delegation, events, { isElsewhere, role });
  run.delegations.add(agent);
  const { callId, depth, parentId } = delegation;
  if (parentId === null && depth === 0) run.delegations.root = agent;
  if (callId !== null) run.delegations.byCall.set(`${parentId} ${callId}`, agent);
  return agent;
}

/** One that nobody has worked on yet needs nothing of what its run has been through. */
async function eventsFor(
  run: LiveRun,
  state: RunState,
  self: Delegation,
): Promise<ReadonlyMap<string, StoredEvent[]>> {
  const found = new Map<string, StoredEvent[]>();
  const isAlone = self.parentId !== null || childrenOf(state, null).length === 1;
  if (self.status === "created" && isAlone) return found;
  for await (const event of run.parts.store.readEvents({ runId: run.id })) {
    run.history.see(event);
    const of = event.sub_agent_id;
    if (of === undefined || !isNear(state, self, of)) continue;
    const events = found.get(of);
    if (events) events.push(event);
    else found.set(of, [event]);
  }
  return found;
}

/** Itself, those whom it called, and with the root its watchers. */
function isNear(state: RunState, self: Delegation, id: string): boolean {
  if (id === self.id) return true;
  const parentId = state.delegations.get(id)?.parentId;
  return parentId === self.id || (parentId === null && self.parentId === null);
}

/** From the root to it. */
function lineOf(state: RunState, id: string): Delegation[] {
  const line: Delegation[] = [];
  for (let one = state.delegations.get(id); one !== undefined; ) {
    line.unshift(one);
    one = one.parentId === null ? undefined : state.delegations.get(one.parentId);
  }
  return line;
}

const planned = ["run.planned"] as const;

/**
 * The rest of a spread run, for the moment when it ends: whose failure has to have reached its
 * caller, and which plans stand.
 */
export async function knowWholeRun(run: LiveRun, state: RunState): Promise<void> {
  run.history.plans.length = 0;
  // Who was told of an end is asked only of those that did not end well.
  const isAnyAmiss = [...state.delegations.values()].some(
    (one) =>
      one.id !== run.delegations.root?.id &&
      !(one.status === "closed" && one.finalStatus === "completed"),
  );
  const types = isAnyAmiss ? (["run.planned", "agent.tool_completed"] as const) : planned;
  const events = run.parts.store.readEvents({ runId: run.id, types });
  for await (const event of events) run.history.see(event);
  const planners = new Set(run.history.plans.map(({ by }) => by));
  for (const delegation of state.delegations.values()) {
    const isOverlooked = delegation.status === "closed" && delegation.finalStatus === "failed";
    const isPlanned = delegation.parentId !== null && planners.has(delegation.parentId);
    if (!isOverlooked && !isPlanned && !planners.has(delegation.id)) continue;
    for (const one of lineOf(state, delegation.id)) {
      if (!run.delegations.byId.has(one.id)) await know(run, state, one, [], true, "none");
    }
  }
}
