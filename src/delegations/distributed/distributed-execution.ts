import type { Contract } from "../../contracts/contract.ts";
import type { Cause } from "../../events/cause.ts";
import type { Delegation } from "../../events/delegation.ts";
import { childrenOf, type RunState } from "../../events/run-state.ts";
import type { CancelOutcome } from "../../ports/delegator.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { DispatchedWork } from "../../ports/workers.ts";
import { cancelRemote } from "../ends/cancel-stored.ts";
import { isWatcher, type LiveDelegation } from "../live-delegation.ts";
import type { Execution, LiveRun } from "../live-run.ts";
import { announceMerge, countSteps, readRunLog, revive, timeOf } from "../recovery/hydrate.ts";
import { cancelLive, queue } from "../work.ts";
import { packStart, packWork, receiveWork } from "./remote-copy.ts";
import { StillBelow } from "./still-below.ts";

/**
 * Each delegation of the run is worked on by the worker that claims it. This process knows one of
 * them, those above and below it, and of the rest what the log says.
 */
export class DistributedExecution implements Execution {
  readonly recorded: Execution["recorded"] = {
    run: (delegations, outlivesProcess) => ({
      spread: { delegations, ...(outlivesProcess && { outlives_process: true }) },
    }),
    delegation: ({ budget: { cost, tokens } }) => ({
      budget: cost === null ? { tokens } : { tokens, cost },
    }),
  };
  readonly transport = { packStart, packWork, receiveWork };
  readonly stillBelow = new StillBelow();
  log: RunState | null = null;
  here: LiveDelegation | null = null;

  /**
   * The limit on the delegations of a run is checked where they are written. The root is dispatched
   * when its watchers are written; the worker of the root works on the watchers.
   */
  async begin(
    live: LiveDelegation,
    created: Promise<unknown>,
  ): Promise<{ readonly rule: string; readonly reason: string } | undefined> {
    try {
      await created;
    } catch (error) {
      if (!(error instanceof MandateError) || error.code !== "refused-by-policy") throw error;
      live.run.delegations.remove(live);
      return { rule: "children", reason: error.message };
    }
    if (live.parent !== null) dispatch(live);
    else if (isWatcher(live) && this.here !== null) queue(live);
    return undefined;
  }

  cancel(live: LiveDelegation, cause: Cause): Promise<CancelOutcome> {
    return this.isRemote(live) ? cancelRemote(live, cause) : cancelLive(live, cause);
  }

  isRemote({ contract, id }: LiveDelegation): boolean {
    const { watches } = contract.parent;
    if (this.here !== null && (this.here.id === id || this.here.id === watches)) return false;
    // Owned along with the delegation of this process: its watchers, and the work handed in to it.
    const delegation = this.log?.delegations.get(id);
    if (delegation?.parentId === null && this.here?.parent === null) return false;
    return delegation?.status !== "waiting_for_merge" || delegation.share?.worker !== null;
  }

  loadAll({ run }: LiveDelegation): Promise<void> | undefined {
    return this.log === null ? undefined : loadRest(run, this.log);
  }
}

/** The part of a distributed run that one worker has: a delegation, those above and those below it. */
export type Branch = LiveRun & { readonly execution: DistributedExecution };

export function isBranch(run: LiveRun): run is Branch {
  return run.execution instanceof DistributedExecution;
}

/** Work that cannot be queued now is found when a worker looks for orphaned delegations. */
export function dispatch(live: LiveDelegation): void {
  live.run.parts.dispatcher?.dispatch(workOf(live)).catch((error: unknown) => {
    process.emitWarning(error instanceof Error ? error : String(error));
  });
}

export function workOf({ contract, id }: Pick<LiveDelegation, "contract" | "id">): DispatchedWork {
  const { depth, run_id: runId } = contract.parent;
  const { model, profile } = contract;
  return { runId, delegationId: id, depth, profile: profile.id, provider: model.provider };
}

/**
 * Rebuilds what one worker needs of a run: a delegation by its log, those above it for their limits,
 * its children for their results, and with the root its watchers. Writes nothing.
 */
export async function hydrateBranch(
  run: Branch,
  state: RunState,
  id: string,
): Promise<LiveDelegation> {
  const { execution } = run;
  execution.log = state;
  const above = lineOf(state, id);
  const self = above.pop();
  if (self === undefined) throw new Error(`run ${run.id} has no delegation ${id}`);
  for (const one of above) await revive(run, state, one, unknown);
  const children = childrenOf(state, id);
  const watchers = self.parentId === null ? childrenOf(state, null) : [];
  const near = [self, ...children, ...watchers.filter((one) => one.id !== id)];
  // A new delegation needs nothing of the log, unless it has watchers.
  const isNew = self.status === "created" && watchers.length <= 1;
  const ids = near.map((one) => one.id);
  const contracts = new Map<string, Contract>();
  for (const each of ids) contracts.set(each, await run.parts.store.readContract(each));
  const time = timeOf(run, (each) => contracts.get(each));
  const eventsOf = isNew
    ? undefined
    : await readRunLog(run, ids, (event) => {
        time.see(event);
        execution.stillBelow.read(event);
      });
  for (const one of near) {
    const events = eventsOf?.get(one.id) ?? [];
    const known = { events, contract: contracts.get(one.id), used: time.of(one.id) };
    if (one.parentId !== id) {
      const live = await revive(run, state, one, known);
      if (one === self) execution.here = live;
      continue;
    }
    // Work that was handed in is integrated, and sealed, by this worker.
    const isElsewhere = one.status !== "waiting_for_merge";
    const child = await revive(run, state, one, { ...known, isElsewhere, role: "caller" });
    if (child.copy !== null) announceMerge(child);
  }
  if (execution.here === null) throw new Error(`delegation ${id} was not loaded`);
  countSteps(run, state, [execution.here]);
  execution.stillBelow.begin(execution.here, state);
  return execution.here;
}

const unknown = { events: [], isElsewhere: true, role: "none" } as const;

/** The delegations from the root to this one. */
function lineOf(state: RunState, id: string): Delegation[] {
  const line: Delegation[] = [];
  for (let one = state.delegations.get(id); one !== undefined; ) {
    line.unshift(one);
    one = one.parentId === null ? undefined : state.delegations.get(one.parentId);
  }
  return line;
}

/** For the outcome of the run: failures that did not reach their caller, and plans with their steps. */
async function loadRest(run: LiveRun, state: RunState): Promise<void> {
  run.history.plans.length = 0;
  // Deliveries matter only where a delegation did not complete.
  const haveAllCompleted = [...state.delegations.values()].every(
    (one) =>
      one.id === run.delegations.root?.id ||
      (one.status === "closed" && one.finalStatus === "completed"),
  );
  const deliveries = haveAllCompleted ? [] : (["agent.tool_completed"] as const);
  const query = { runId: run.id, types: ["run.planned", ...deliveries] } as const;
  for await (const event of run.parts.store.readEvents(query)) run.history.see(event);
  const planners = new Set(run.history.plans.map(({ by }) => by));
  for (const delegation of state.delegations.values()) {
    const isFailed = delegation.status === "closed" && delegation.finalStatus === "failed";
    const isPlanned = delegation.parentId !== null && planners.has(delegation.parentId);
    if (!isFailed && !isPlanned && !planners.has(delegation.id)) continue;
    for (const one of lineOf(state, delegation.id)) {
      if (!run.delegations.byId.has(one.id)) await revive(run, state, one, unknown);
    }
  }
}
