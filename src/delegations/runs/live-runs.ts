import type { RunGrant } from "../../contracts/run-grant.ts";
import type { Cancellation, Cause } from "../../events/cause.ts";
import type { StoredEvent } from "../../events/event.ts";
import { isPaused } from "../../events/run-state.ts";
import type { CancelOutcome, DelegationResult } from "../../ports/delegator.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Store } from "../../ports/store.ts";
import { resultOf } from "../../sessions/delegation-result.ts";
import { retireCopy } from "../changes/take-over.ts";
import type { Branches } from "../distributed/branches.ts";
import { cancelStored } from "../ends/cancel-stored.ts";
import { failedResult, unwrittenBy } from "../ends/closing-events.ts";
import type { EngineParts } from "../engine-parts.ts";
import { event, type LiveDelegation } from "../live-delegation.ts";
import { type LiveRun, loseRun, settleAsk } from "../live-run.ts";
import { type Interrupted, interruptRoot } from "../suspend/interrupt.ts";
import type { GoalQueue } from "./goal-queue.ts";

/** What one engine holds: its parts, what its runs may hold at most, and the runs themselves. */
export interface EngineState {
  readonly parts: EngineParts;
  readonly grant: RunGrant;
  readonly runs: LiveRuns;
  readonly branches: Branches;
  readonly goals: GoalQueue;
}

/**
 * The runs that this process owns, and those that another process took from it. Answers and ends
 * that other processes write reach them by the log.
 */
export class LiveRuns {
  readonly #owned = new Map<string, LiveRun>();
  /** Runs that another process works on now, and whose results are still awaited here. */
  readonly #lost = new Map<string, LiveRun>();

  get all(): readonly LiveRun[] {
    return [...this.#owned.values()];
  }

  get(runId: string): LiveRun | undefined {
    return this.#owned.get(runId);
  }

  /** The delegation of that id, or the root of the run of that id. */
  find(id: string): LiveDelegation | undefined {
    const run = this.#owned.get(id);
    if (run !== undefined) return run.delegations.root ?? undefined;
    return this.all.flatMap((one) => one.delegations.byId.get(id) ?? [])[0];
  }

  /** The run is owned until its root has closed, with the result that is given. */
  add(run: LiveRun, root: LiveDelegation): Promise<DelegationResult> {
    this.#owned.set(run.id, run);
    const result = root.process.end.whenClosed();
    void result.then(() => this.#owned.delete(run.id));
    return result;
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

  hear(event: StoredEvent): void {
    const run = this.#owned.get(event.run_id);
    switch (event.type) {
      case "agent.answered":
        if (run) settleAsk(run, event);
        break;
      case "agent.subagent_closed": {
        const { sub_agent_id: id } = event.payload;
        const live = run?.delegations.byId.get(id);
        if (live && !live.process.end.isEnding && live.run.execution.log === null) {
          live.process.end.isEnding = true;
          live.work.stop({ code: "ended_outside" });
          closeAsStored(live).catch(leaveToLog);
        }
        const lost = this.#lost.get(event.run_id)?.delegations.byId.get(id);
        if (lost) closeAsStored(lost).catch(leaveToLog);
        break;
      }
      case "agent.paused":
        // A resume starts from the log, so what is in memory is of no further use.
        if (run && isSuspendedRoot(run, event.sub_agent_id)) this.lose(run);
        break;
      case "run.resumed":
        if (run && event.payload.worker !== run.settings.ownership.worker) this.lose(run);
        break;
      default:
    }
  }

  /** Results of lost runs can no longer be followed: those who wait for them get an error. */
  close(): void {
    const closed = new MandateError("closed", "This process stopped; its runs continue elsewhere.");
    for (const { delegations, execution } of this.#lost.values()) {
      const { root } = delegations;
      if (root === null || !execution.isRemote(root)) continue;
      root.process.end.closed(failedResult(root, unwrittenBy(closed)));
    }
  }
}

/** A run is suspended with its root; a root that paused for budget continues. */
function isSuspendedRoot({ delegations: { root } }: LiveRun, id: string | undefined): boolean {
  if (root === null || root.id !== id) return false;
  const { state, work } = root;
  return work.isInterrupted || (state.status === "waiting_for_merge" && state.isPaused === true);
}

/** Another process closed the delegation: its caller gets the result that the log has, if any. */
async function closeAsStored(live: LiveDelegation): Promise<void> {
  const { id, run } = live;
  const state = await run.parts.store.readRun(run.id);
  const result = state && resultOf(state, id);
  if (!result) return;
  live.adopt(state.delegations.get(id) ?? live.state);
  live.process.end.closed(result);
  if (!run.lost) retireCopy(live);
}

/** The store was closed before it could be read: the next process finds the end in the log. */
function leaveToLog(): void {}

/** The live delegation of that id, or the root of the run of that id. */
export async function agentAtWork(
  { branches, parts, runs }: EngineState,
  id: string,
): Promise<LiveDelegation> {
  const run = runs.get((await parts.store.findRun(id)) ?? id);
  // Each branch of a distributed run works on one delegation, and on the watchers of that one.
  const inBranch = branches.all
    .flatMap(
      ({ delegations: { byId, root }, id: runId }) => (id === runId ? root : byId.get(id)) ?? [],
    )
    .find((one) => !one.run.execution.isRemote(one));
  const live = inBranch ?? run?.delegations.byId.get(id) ?? run?.delegations.root;
  if (live && !live.process.end.isEnding) return live;
  throw notLive(id);
}

function notLive(id: string): MandateError {
  return new MandateError("unknown-run", `Nothing that works here is called ${id}.`);
}

export async function interruptRun(
  { parts: { store }, runs }: EngineState,
  id: string,
  reason: string,
): Promise<Interrupted> {
  const runId = (await store.findRun(id)) ?? id;
  const root = runs.get(runId)?.delegations.root;
  if (root == null) return interruptedBefore(store, runId, id);
  if (id === runId || id === root.id) {
    return interruptRoot(root, { code: "cancelled", text: reason });
  }
  throw new MandateError(
    "usage",
    `${id} works for another agent, which alone can be interrupted with all that it does: run ${runId}. To end ${id}, cancel it.`,
  );
}

/** The outcome of an interrupt for a run that this process does not work on. */
async function interruptedBefore(store: Store, runId: string, id: string): Promise<Interrupted> {
  const settled = Promise.resolve();
  const state = await store.readRun(runId);
  if (state && isPaused(state)) return { outcome: "paused", settled };
  if (state && state.outcome !== null) return { outcome: "already_terminal", settled };
  if (!state?.spread) throw notLive(id);
  throw new MandateError(
    "usage",
    `Run ${runId} is distributed over workers, and cannot be paused there. To end it: mandate cancel ${runId}`,
  );
}

/** Cancels a delegation, or a whole run, with everything below it, whichever process works on it. */
export async function cancelDelegation(
  { parts: { store, toolbox }, runs }: EngineState,
  id: string,
  reason: Cancellation,
): Promise<CancelOutcome> {
  const cause: Cause = typeof reason === "string" ? { code: "cancelled", text: reason } : reason;
  // What this process works on is stopped at once, however far away the database is.
  const live = runs.find(id);
  if (live) return live.run.execution.cancel(live, cause);
  const runId = await store.findRun(id);
  if (runId === undefined) return "not_found";
  return cancelStored(store, toolbox, runId, id, cause);
}

/** Tells a live delegation about its surroundings; one that ends or is suspended needs no more. */
export function tellAgent(runs: readonly LiveRun[], id: string, message: string): void {
  for (const run of runs) {
    const live = run.delegations.byId.get(id);
    if (live === undefined || run.execution.isRemote(live)) continue;
    if (live.process.end.isEnding || live.work.stopReason !== null || live.work.suspension !== null)
      continue;
    live.record(event(live, "agent.interjected", { from: "mcp", severity: "info", message }));
  }
}

/** Stops delegations that hold a slot and do nothing, by the idle deadline of their contracts. */
export function stopIdle(runs: readonly LiveRun[], now: number): void {
  for (const live of runs.flatMap((run) => [...run.delegations.byId.values()])) {
    const { lastActivity, time } = live.process;
    const { idle } = live.contract.deadlines;
    if (!time.hasSlot || lastActivity === 0 || now - lastActivity <= idle) continue;
    live.work.stop({ code: "idle", ms: idle });
  }
}

/** The result that the log has of a delegation, or of a run's root. Null: none yet. */
export async function storedResult(
  store: Pick<Store, "readRun">,
  runId: string,
  id: string,
): Promise<DelegationResult | null> {
  const run = await store.readRun(runId);
  if (run === undefined) return null;
  const root = [...run.delegations.values()].find(({ parentId }) => parentId === null);
  return resultOf(run, id === runId && root !== undefined ? root.id : id);
}
