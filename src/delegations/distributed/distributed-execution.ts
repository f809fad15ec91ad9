import type { Contract } from "../../contracts/contract.ts";
import type { Cause } from "../../events/cause.ts";
import { ownerOf } from "../../events/checker/check-owner.ts";
import type { RunState } from "../../events/run-state.ts";
import type { CancelOutcome, DelegationResult } from "../../ports/delegator.ts";
import type { DispatchedWork } from "../../ports/dispatcher.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { resultOf } from "../../sessions/delegation-result.ts";
import type { Budget } from "../budget.ts";
import { retireCopy } from "../changes/take-over.ts";
import { cancelStored } from "../ends/cancel-stored.ts";
import { type Ending, isCancelled } from "../ends/ending.ts";
import type { EngineParts } from "../engine-parts.ts";
import type { CopyTravel, Execution, NotBegun, RunKeeping } from "../execution.ts";
import { endTime, isWatcher, type LiveDelegation } from "../live-delegation.ts";
import { LiveRun, type RunSettings } from "../live-run.ts";
import { cancelLive } from "../suspend/interrupt.ts";
import { queue } from "../work.ts";
import { knowWholeRun } from "./hydrate-branch.ts";
import { keepAlive } from "./keep-alive.ts";
import { copyFor } from "./remote-copy.ts";
import { packStart, packWork, receiveWork } from "./remote-copy-bundles.ts";
import { SharedBudget } from "./shared-budget.ts";

/**
 * Each delegation of the run is worked on by the worker that claims it; this process knows one of
 * them, what is above and below it, and of the rest what the log says.
 */
export class DistributedExecution implements Execution {
  readonly recorded: Execution["recorded"] = {
    run: (delegations) => ({ spread: { delegations } }),
    delegation: (contract) => ({ budget: capsIn(contract) }),
  };
  log: RunState | null = null;
  /** The delegation that this process works on. */
  here: LiveDelegation | null = null;
  readonly left: PromiseWithResolvers<void> = Promise.withResolvers();
  readonly run: LiveRun;

  constructor(run: LiveRun) {
    this.run = run;
  }

  /** The part of a run that one worker works on. */
  static open(parts: EngineParts, settings: RunSettings): DistributedExecution {
    const opened: DistributedExecution[] = [];
    const execute = (run: LiveRun): DistributedExecution => {
      const execution = new DistributedExecution(run);
      opened.push(execution);
      return execution;
    };
    const run = new LiveRun(parts, settings, execute);
    return opened[0] ?? execute(run);
  }

  get travel(): CopyTravel {
    const run = this.run;
    return {
      packStart: (caller, copies, copy) => packStart(run, caller, copies, copy),
      packWork,
      receiveWork,
      copyFor: (place) => copyFor(run, this.log, place),
    };
  }

  budget(id: string | null, above: Budget | null, tokens: number, dollars: number | null): Budget {
    return new SharedBudget({ run: this, id }, above, tokens, dollars);
  }

  /** How many delegations the run has is known where they are written, and nowhere else. */
  async begin(agent: LiveDelegation, created: Promise<unknown>): Promise<NotBegun | undefined> {
    try {
      await created;
    } catch (error) {
      if (!(error instanceof MandateError) || error.code !== "refused-by-policy") throw error;
      this.run.delegations.remove(agent);
      return { rule: "children", reason: error.message };
    }
    this.dispatch(agent);
    return undefined;
  }

  /**
   * The root is started when everything that belongs to it is there, and watchers are worked on
   * where the session is that they watch.
   */
  dispatch(agent: LiveDelegation): void {
    // What cannot be put into the queue now is found when orphaned delegations are looked for.
    if (agent.parent !== null) this.run.parts.dispatcher?.dispatch(workOf(agent)).catch(warn);
    else if (isWatcher(agent) && this.here !== null) queue(agent);
  }

  async start(root: LiveDelegation, { lose }: RunKeeping): Promise<void> {
    lose();
    const { parts } = this.run;
    await parts.dispatcher?.dispatch(workOf(root));
    // It may have been ended before it was dispatched.
    const state = await parts.store.readRun(this.run.id);
    const result = state && resultOf(state, root.id);
    if (!result) return;
    root.process.end.closed(result);
    if (!this.run.lost) retireCopy(root);
  }

  /** The agent of another program stays where that program is; those below it need not. */
  async hold(root: LiveDelegation, follow: (branch: DistributedExecution) => void): Promise<void> {
    this.here = root;
    this.log = (await this.run.parts.store.readRun(this.run.id)) ?? null;
    follow(this);
  }

  awaited(result: Promise<DelegationResult>): Promise<DelegationResult> {
    return keepAlive(result);
  }

  stopWaiting(root: LiveDelegation, result: DelegationResult): void {
    root.process.end.closed(result);
  }

  isRemote({ id }: LiveDelegation): boolean {
    if (this.here?.id === id) return false;
    // What is owned along with the delegation of this process: its watchers, and what was handed in.
    const delegation = this.log?.delegations.get(id);
    if (delegation?.parentId === null && this.here?.parent === null) return false;
    return delegation?.status !== "waiting_for_merge" || delegation.share?.worker !== null;
  }

  owns({ id }: LiveDelegation, state: RunState): boolean {
    const { ownership } = this.run.settings;
    const { fence, worker } = ownerOf(state, id);
    return fence === ownership.fence && worker === ownership.worker;
  }

  async cancel(agent: LiveDelegation, cause: Cause): Promise<CancelOutcome> {
    if (!this.isRemote(agent)) return cancelLive(agent, cause);
    // Its worker reads of it in the log.
    const { id, parts } = this.run;
    const outcome = await cancelStored(parts.store, parts.toolbox, id, agent.id, cause);
    if (outcome !== "not_found") await agent.process.end.whenClosed();
    return outcome;
  }

  async endRemoteChildren({ process }: LiveDelegation, ending: Ending): Promise<void> {
    const code = isCancelled(ending) ? "caller_cancelled" : "caller_closed";
    for (const child of process.children) {
      if (!child.process.end.isEnding && this.isRemote(child)) await this.cancel(child, { code });
    }
  }

  /** A child's answer is for its caller's worker, which does not have its children. */
  answersEarly({ parent }: LiveDelegation): boolean {
    return parent === null;
  }

  handsOver(agent: LiveDelegation): boolean {
    if (agent.parent === null || agent !== this.here) return false;
    agent.process.end.isEnding = true;
    endTime(agent);
    this.leave();
    return true;
  }

  knowAll(agent: LiveDelegation): Promise<void> | undefined {
    if (agent !== this.run.delegations.root || this.log === null) return undefined;
    return knowWholeRun(this.run, this.log);
  }

  leave(): void {
    this.left.resolve();
  }
}

export function workOf({ contract, id }: Pick<LiveDelegation, "contract" | "id">): DispatchedWork {
  const { depth, run_id: runId } = contract.parent;
  const { model, profile } = contract;
  return { runId, delegationId: id, depth, profile: profile.id, provider: model.provider };
}

/** What every worker holds a delegation to. */
function capsIn({ budget: { cost, tokens } }: Contract): { tokens: number; cost?: number } {
  return cost === null ? { tokens } : { tokens, cost };
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error));
}
