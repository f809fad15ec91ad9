import type { RunGrant } from "../../contracts/run-grant.ts";
import { openAskOf } from "../../events/delegation.ts";
import type { StoredEvent } from "../../events/event.ts";
import { childrenAfterAnswer, isPaused, type RunState } from "../../events/run-state.ts";
import type { DelegationResult } from "../../ports/delegator.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { RunRow, Store } from "../../ports/store.ts";
import { resultOf } from "../../sessions/delegation-result.ts";
import { retireCopy } from "../changes/take-over.ts";
import { type Branch, isBranch } from "../distributed/distributed-execution.ts";
import { closeWith } from "../ends/close.ts";
import { conclude, failedResult, unwrittenBy } from "../ends/closing-events.ts";
import { failure } from "../ends/ending.ts";
import type { EngineParts } from "../engine-parts.ts";
import { type LiveDelegation, outputOf, suspensionIn } from "../live-delegation.ts";
import { type LiveRun, loseRun, settleAsk } from "../live-run.ts";
import { reload } from "../recovery/hydrate.ts";
import { finish, queue } from "../work.ts";

/** What one engine holds: its parts, what its runs may hold at most, and the runs themselves. */
export interface EngineState {
  readonly parts: EngineParts;
  readonly grant: RunGrant;
  readonly runs: LiveRuns;
  readonly goals: GoalQueue;
}

/**
 * The runs that this process works on, whole runs and branches of distributed ones, and the runs that
 * another process took from it. Events that other processes write reach them through the log.
 */
export class LiveRuns {
  readonly #owned = new Map<string, LiveRun>();
  /** Runs that another process works on now, and whose results are still awaited here. */
  readonly #lost = new Map<string, LiveRun>();
  /** By run: the delegations of distributed runs that this process works on, a branch for each. */
  readonly #branches = new Map<string, Set<Branch>>();
  /** Delegations that worked here in a copy of another machine's folder, until they have closed. */
  readonly #guests = new Map<string, LiveDelegation>();

  get all(): readonly LiveRun[] {
    return [...this.#owned.values(), ...this.branches];
  }

  get branches(): readonly Branch[] {
    return [...this.#branches.values()].flatMap((ofRun) => [...ofRun]);
  }

  get(runId: string): LiveRun | undefined {
    return this.#owned.get(runId);
  }

  /** The delegation of that id, or the root of the run of that id, in a run that is owned here. */
  find(id: string): LiveDelegation | undefined {
    const run = this.#owned.get(id);
    if (run !== undefined) return run.delegations.root ?? undefined;
    for (const one of this.#owned.values()) {
      const live = one.delegations.byId.get(id);
      if (live !== undefined) return live;
    }
    return undefined;
  }

  /** The run is owned until its root has closed, with the result that is given. */
  add(run: LiveRun, root: LiveDelegation): Promise<DelegationResult> {
    this.#owned.set(run.id, run);
    const result = root.process.end.whenClosed();
    void result.then(() => this.#owned.delete(run.id));
    return result;
  }

  addBranch(branch: Branch): void {
    const others = this.#branches.get(branch.id);
    if (others) others.add(branch);
    else this.#branches.set(branch.id, new Set([branch]));
  }

  removeBranch(branch: Branch): void {
    const branches = this.#branches.get(branch.id);
    branches?.delete(branch);
    if (branches?.size === 0) this.#branches.delete(branch.id);
  }

  addGuest(live: LiveDelegation): void {
    if (live.copy?.source.kind === "elsewhere") this.#guests.set(live.id, live);
  }

  /** The agent of another program stays in this process; its children may be on other machines. */
  async hold(run: LiveRun, root: LiveDelegation): Promise<void> {
    if (!isBranch(run)) return;
    const log = (await run.parts.store.readRun(run.id)) ?? null;
    run.execution.here = root;
    run.execution.log = log;
    if (log !== null) run.execution.stillBelow.begin(root, log);
    this.addBranch(run);
    void root.process.end.whenClosed().then(() => this.removeBranch(run));
  }

  /** Another process owns the run now: what is in memory here is no longer valid. */
  lose(run: LiveRun): void {
    this.#owned.delete(run.id);
    const before = this.#lost.get(run.id);
    this.#lost.set(run.id, run);
    void run.delegations.root?.process.end.whenClosed().then((result) => {
      before?.delegations.root?.process.end.closed(result);
      if (this.#lost.get(run.id) === run) this.#lost.delete(run.id);
    });
    loseRun(run);
  }

  /** Receives events that were committed together. */
  onEvents(events: readonly StoredEvent[]): void {
    const released = new Set<string>();
    for (const event of events) {
      const { run_id: runId, type } = event;
      for (const { execution } of this.#branches.get(runId) ?? []) execution.stillBelow.see(event);
      if (!followed.has(type)) continue;
      if (type === "agent.subagent_closed") this.#retireGuest(event.payload.sub_agent_id);
      // All of the events count already: waiters look at the budget once.
      const isRelease = releases.has(type);
      if (isRelease && released.has(runId)) continue;
      if (isRelease) released.add(runId);
      const owned = this.#owned.get(runId);
      if (owned !== undefined) this.#follow(owned, event);
      for (const branch of this.#branches.get(runId) ?? []) followBranch(branch, event);
      if (type === "agent.subagent_waiting_for_merge") {
        const root = this.#lost.get(runId)?.delegations.root;
        if (root && root.id === event.sub_agent_id) answerAsLogged(root).catch(leaveToRecovery);
      }
      if (type === "agent.subagent_closed") {
        const lost = this.#lost.get(runId)?.delegations.byId.get(event.payload.sub_agent_id);
        if (lost) closeAsLogged(lost).catch(leaveToRecovery);
      }
    }
  }

  /** An event of a run that is owned here, by whichever process it was written. */
  #follow(run: LiveRun, event: StoredEvent): void {
    // What belongs to single delegations of a distributed run, its branches follow.
    const isWhole = run.execution.log === null;
    switch (event.type) {
      case "agent.answered":
        if (isWhole) settleAsk(run, event);
        break;
      case "agent.subagent_closed": {
        const live = run.delegations.byId.get(event.payload.sub_agent_id);
        if (isWhole && live && !live.process.end.isEnding)
          closeAsLogged(live).catch(leaveToRecovery);
        break;
      }
      case "agent.paused":
        // A resume starts from the log, so what is in memory is of no further use.
        if (isSuspendedRoot(run, event.sub_agent_id)) this.lose(run);
        break;
      case "run.resumed":
        if (event.payload.worker !== run.settings.ownership.worker) this.lose(run);
        break;
      default:
    }
  }

  /** The work is in the store now, or was not submitted: then only this copy has it, and it stays. */
  #retireGuest(id: string): void {
    const guest = this.#guests.get(id);
    this.#guests.delete(id);
    const { copy, run } = guest ?? {};
    if (copy) void run?.parts.copies().then((copies) => copies.retire(copy));
  }

  /** Results of lost runs can no longer be followed: those who wait for them get an error. */
  close(): void {
    const closed = new MandateError("closed", "This process stopped; its runs continue elsewhere.");
    for (const { delegations, execution } of this.#lost.values()) {
      const { root } = delegations;
      if (root === null || !execution.isRemote(root)) continue;
      root.process.end.closed(failedResult(root, unwrittenBy(closed)));
    }
    for (const branch of this.branches) loseRun(branch);
  }
}

const releases: ReadonlySet<string> = new Set(["agent.budget_settled", "agent.budget_corrected"]);

/** The types that are handled. */
const followed: ReadonlySet<string> = new Set([
  ...releases,
  ...["agent.answered", "agent.claimed", "agent.interrupted", "agent.paused", "run.resumed"],
  ...["agent.subagent_waiting_for_merge", "agent.subagent_closed"],
]);

/** A run is suspended with its root; a root that paused for budget continues. */
function isSuspendedRoot({ delegations: { root } }: LiveRun, id: string | undefined): boolean {
  if (root === null || root.id !== id) return false;
  const { state, work } = root;
  return work.isInterrupted || (state.status === "waiting_for_merge" && state.isPaused === true);
}

function followBranch(branch: Branch, event: StoredEvent): void {
  const { delegations, execution, settings } = branch;
  switch (event.type) {
    case "agent.budget_settled":
    case "agent.budget_corrected":
      branch.funds.notify();
      break;
    case "agent.answered":
      settleAsk(branch, event);
      break;
    case "agent.claimed": {
      const isHere = event.sub_agent_id === execution.here?.id;
      if (isHere && event.payload.fence > settings.ownership.fence) loseRun(branch);
      break;
    }
    case "agent.subagent_waiting_for_merge": {
      const child = delegations.byId.get(event.sub_agent_id ?? "");
      if (child && child.parent === execution.here && child.contract.workspace.copy !== undefined)
        integrate(branch, child).catch(leaveToRecovery);
      break;
    }
    case "agent.subagent_closed": {
      const live = delegations.byId.get(event.payload.sub_agent_id);
      if (live) closeAsLogged(live).then(() => branch.changed.notify(), leaveToRecovery);
      break;
    }
    case "agent.interrupted":
    case "agent.paused":
      followSuspension(branch, event.sub_agent_id ?? "");
      break;
    default:
  }
}

/** Suspended by its caller's worker, or interrupted by a person: the log has all that counts. */
function followSuspension(branch: Branch, id: string): void {
  const { delegations, execution } = branch;
  const delegation = execution.log?.delegations.get(id);
  const live = delegations.byId.get(id);
  if (delegation === undefined || live === undefined || live.process.end.isEnding) return;
  if (live === execution.here) {
    const isReleased = delegation.share?.worker === null && delegation.share.fence > 0;
    if (isReleased) loseRun(branch);
  } else if (execution.isRemote(live)) {
    live.adopt(delegation);
    live.work.cut = suspensionIn(delegation);
    branch.changed.notify();
  }
}

/** Compares memory with the log: closes and answers may have been written before it was followed. */
export async function catchUp(branch: Branch): Promise<void> {
  const { here, log } = branch.execution;
  if (log === null) return;
  // Budgets may have been released before the log was followed.
  branch.funds.notify();
  for (const live of [...branch.delegations.byId.values()]) {
    const isClosed = log.delegations.get(live.id)?.status === "closed";
    if (isClosed && live.process.end.result === null) await closeAsLogged(live);
  }
  const delegation = here === null ? undefined : log.delegations.get(here.id);
  if (!here || !delegation || here.process.end.isEnding) return;
  const wasAnswered = openAskOf(here.state) !== null && openAskOf(delegation) === null;
  if (wasAnswered) await reload(here, delegation);
}

/** A child's work was handed in, and this process integrates it. */
async function integrate(branch: Branch, child: LiveDelegation): Promise<void> {
  const delegation = branch.execution.log?.delegations.get(child.id);
  // Work that was refused at once closed in the append that reported it.
  if (delegation?.status !== "waiting_for_merge") return;
  if (child.process.end.isEnding || outputOf(child) !== null) return;
  child.adopt(delegation);
  await reload(child, delegation);
  branch.changed.notify();
  const output = outputOf(child);
  if (child.copy !== null && output !== null) return finish(child, output);
  await closeWith(child, failure({ code: "working_copy_gone" }));
}

/** Another process, or a person, closed the delegation: its caller gets the result of the log. */
async function closeAsLogged(live: LiveDelegation): Promise<void> {
  const { id, run } = live;
  const { end } = live.process;
  const { here, log } = run.execution;
  const wasOpen = !end.isEnding;
  end.isEnding = true;
  if (wasOpen && (log === null || live === here)) live.work.stop({ code: "ended_outside" });
  // A new branch has a copy of the state until its claim is written.
  const isKnown = log?.delegations.get(id)?.status === "closed";
  const state = isKnown ? log : await run.parts.store.readRun(run.id);
  const result = state && resultOf(state, id);
  if (!result) return;
  live.adopt(state.delegations.get(id) ?? live.state);
  end.closed(result);
  if (wasOpen && !run.lost && live !== here) retireCopy(live);
}

/** The root has answered in another process, and background children still run. */
async function answerAsLogged(root: LiveDelegation): Promise<void> {
  const state = await root.run.parts.store.readRun(root.run.id);
  const delegation = state?.delegations.get(root.id);
  if (!state || !delegation || childrenAfterAnswer(state, delegation).length === 0) return;
  await reload(root, delegation);
  const ending = outputOf(root);
  if (ending !== null) root.process.end.answered(conclude(root, { ending })[1]);
}

/** The store cannot be used: recovery reads in the log what remains to be done. */
function leaveToRecovery(): void {}

const mostRuns = 10_000;

/**
 * Goals of one workspace are worked on one after the other, the oldest first. Each goal is a run, and
 * a waiting goal is a run whose root has not begun: the queue follows from the open runs in the log.
 * This class only holds the waiting goals of this process, and begins them. Orphaned goals do not
 * block others.
 */
export class GoalQueue {
  readonly #store: Store;
  readonly #held = new Map<string, LiveRun>();
  #advancing: Promise<void> = Promise.resolve();

  constructor(store: Store) {
    this.#store = store;
  }

  /** The last goal of a workspace that has not ended; null: no goal is open. */
  async lastOf(workspace: string | null): Promise<string | null> {
    for (const row of await this.#store.listRuns({ open: true, limit: mostRuns })) {
      if (row.workspace === workspace && (await this.#goalOf(row)) !== null) return row.id;
    }
    return null;
  }

  hold(run: LiveRun): void {
    run.isHeld = true;
    this.#held.set(run.id, run);
  }

  /** Begins the goals whose turn it is. */
  advance(): Promise<void> {
    if (this.#held.size === 0) return Promise.resolve();
    // One after the other: two that look at the same time would both find that it is free.
    this.#advancing = this.#advancing.then(() => this.#advance()).catch(() => undefined);
    return this.#advancing;
  }

  async #advance(): Promise<void> {
    for (const [id, { delegations, lost }] of this.#held) {
      const { root } = delegations;
      if (lost || root === null || root.process.end.isEnding) this.#held.delete(id);
    }
    if (this.#held.size === 0) return;
    const rows = await this.#store.listRuns({ open: true, limit: mostRuns });
    // Only the folders of the waiting goals count.
    const folders = new Set([...this.#held.values()].map((run) => run.settings.workspace));
    const busy = new Set<string | null>();
    const waiting: RunRow[] = [];
    for (const row of rows.toReversed()) {
      if (!folders.has(row.workspace)) continue;
      const run = this.#held.has(row.id) ? undefined : await this.#goalOf(row);
      if (run === null) continue;
      if (run !== undefined && hasBegun(run)) busy.add(row.workspace);
      else waiting.push(row);
    }
    for (const { id, workspace } of waiting) {
      if (busy.has(workspace)) continue;
      // The next queued run of this workspace starts here, or in the process that holds it.
      busy.add(workspace);
      this.#begin(id);
    }
  }

  #begin(id: string): void {
    const run = this.#held.get(id);
    const root = run?.delegations.root ?? null;
    if (run === undefined || root === null || root.process.end.isEnding) return;
    this.#held.delete(id);
    run.isHeld = false;
    queue(root);
  }

  /** Null: it is no goal, it is orphaned, or it is paused. */
  async #goalOf({ id, worker }: RunRow): Promise<RunState | null> {
    const run = await this.#store.readRun(id).catch(() => undefined);
    if (run === undefined || run.goal === null || isPaused(run)) return null;
    return run.spread !== null || (await this.#store.isWorkerAlive(worker)) ? run : null;
  }
}

function hasBegun({ delegations }: RunState): boolean {
  const [root] = delegations.values();
  return root !== undefined && root.status !== "created";
}
