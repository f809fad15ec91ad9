import { isSuspended } from "../../events/check-owner.ts";
import { isOpen } from "../../events/delegation.ts";
import type { NewEvent } from "../../events/event.ts";
import type { RunState } from "../../events/run-state.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Ownership, Store } from "../../ports/store.ts";
import type { DispatchedWork } from "../../ports/workers.ts";
import { type LiveDelegation, outputOf } from "../live-delegation.ts";
import { LiveRun, loseRun } from "../live-run.ts";
import {
  closeUnrecoverable,
  continueSettling,
  recoverDelegation,
  storedSettings,
} from "../recovery/recover.ts";
import { catchUp, type EngineState } from "../runs/live-runs.ts";
import {
  type Branch,
  DistributedExecution,
  dispatch,
  hydrateBranch,
  isBranch,
} from "./distributed-execution.ts";

/** `done`: it has closed, or was handed in. `busy`: another worker has it. */
export type WorkOutcome = "done" | "busy";

/**
 * Claims a delegation, and works on it until it is closed, handed in, or another worker's. `onQueued`:
 * it has a place in this worker, waits for one, or waits without one.
 */
export async function workOnBranch(
  { goals, grant, parts, runs }: EngineState,
  { delegationId: id, runId }: Pick<DispatchedWork, "delegationId" | "runId">,
  onQueued: () => void,
): Promise<WorkOutcome> {
  const { store } = parts;
  const found = await findUnowned(store, runId, id);
  if (typeof found === "string") return found;
  const fence = found.delegations.get(id)?.share?.fence ?? 0;
  const claim = { worker: store.ownership.worker, fence: fence + 1 };
  // What the process before wrote is read when it cannot write any more.
  const isFresh = fence === 0 && found.delegations.get(id)?.status === "created";
  if (!isFresh) {
    if (!(await claimFirst(store, runId, id, claim))) return "busy";
    await parts.endStrays(new Set([id]));
  }
  const state = isFresh ? found : await store.readRun(runId);
  if (state === undefined) return "done";
  const settings = await storedSettings(parts, state, claim, grant);
  const run = new LiveRun(parts, settings, new DistributedExecution());
  if (!isBranch(run)) throw new Error("a claimed run is distributed");
  // From here on the branch follows what other processes write.
  runs.addBranch(run);
  try {
    const live = await open(run, state, id, isFresh);
    if (live === null) return "done";
    runs.addGuest(live);
    const isGoal = run.execution.log?.goal != null && live === run.delegations.root;
    // A goal that has not begun waits for its turn again.
    if (isGoal && live.state.status === "created") goals.hold(run);
    await workOn(run, live);
    onQueued();
    if (run.isHeld) await goals.advance();
    while (!run.lost && !isDone(live)) await run.changed.next();
    return run.lost ? "busy" : "done";
  } finally {
    // No process of a delegation that was suspended may still run.
    if (run.lost) await parts.release(id).catch(() => undefined);
    runs.removeBranch(run);
  }
}

/** The run, when no live worker has the delegation and it is not left to the worker of its caller. */
async function findUnowned(
  store: Store,
  runId: string,
  id: string,
): Promise<RunState | WorkOutcome> {
  const state = await store.readRun(runId);
  const delegation = state?.delegations.get(id);
  const { share } = delegation ?? {};
  if (!state || !delegation || !share || !isOpen(delegation)) return "done";
  if (delegation.status === "waiting_for_merge" && delegation.parentId !== null) return "done";
  // A suspended delegation is enqueued again when a person resumes it.
  if (isSuspended(state, id)) return "done";
  // A claim of this process that it does not work on was left by an error.
  const { worker } = share;
  const isOwned = worker !== null && worker !== store.ownership.worker;
  return isOwned && (await store.isWorkerAlive(worker)) ? "busy" : state;
}

/** Claims the delegation; false: another worker was faster. */
async function claimFirst(
  store: Store,
  runId: string,
  id: string,
  claim: Ownership,
): Promise<boolean> {
  try {
    await store.append({ runId, by: claim, events: [claimed(id, claim)] });
    return true;
  } catch (error) {
    const code = error instanceof MandateError ? error.code : "";
    if (code === "illegal-transition" || code === "fenced") return false;
    throw error;
  }
}

function claimed(id: string, claim: Ownership): NewEvent {
  return { type: "agent.claimed", sub_agent_id: id, payload: claim };
}

/** Null: the delegation cannot continue here or anywhere, and was closed. */
async function open(
  run: Branch,
  state: RunState,
  id: string,
  isFresh: boolean,
): Promise<LiveDelegation | null> {
  try {
    const live = await hydrateBranch(run, state, id);
    if (isFresh) claimAlong(run, live);
    // What was written while the log was read reached no delegation of this process.
    await catchUp(run);
    return live;
  } catch (error) {
    await closeUnrecoverable(run, id, error);
    return null;
  }
}

/**
 * Writes the claim with the first events that follow from it. If the claim is refused, so are they,
 * and nothing has left this process.
 */
function claimAlong(run: Branch, live: LiveDelegation): void {
  const written = run.append([claimed(live.id, run.settings.ownership)]);
  live.process.appends.add(written);
  written.then(
    () => followLog(run),
    () => loseRun(run),
  );
}

/** From its first append on, the state of a run moves with its log; until then it was a copy. */
async function followLog(run: Branch): Promise<void> {
  for (;;) {
    try {
      const { execution } = run;
      execution.log = (await run.parts.store.readRun(run.id)) ?? execution.log;
      if (execution.log !== null) execution.stillBelow.follow(execution.log);
      return await catchUp(run);
    } catch (error) {
      if (run.lost || (error instanceof MandateError && error.code === "closed")) return;
      // The database cannot be reached: retried until it can, or this worker has ended.
      await new Promise<void>((resolve) => run.parts.clock.after(500, resolve).unref());
    }
  }
}

/**
 * Starts or recovers the delegation: children whose work was handed in, children that may never have
 * been dispatched, the delegation itself, and the watchers of a root.
 */
async function workOn({ delegations, execution }: Branch, live: LiveDelegation): Promise<void> {
  const { log } = execution;
  for (const child of live.process.children) {
    const delegation = log?.delegations.get(child.id);
    if (delegation === undefined || child.process.end.isEnding) continue;
    if (delegation.status === "waiting_for_merge") await recoverDelegation(child, delegation);
    else if (delegation.share?.worker === null && log && !isSuspended(log, child.id))
      dispatch(child);
  }
  const watchers = live.parent === null ? delegations.topLevel.filter((one) => one !== live) : [];
  for (const one of [live, ...watchers]) {
    const delegation = log?.delegations.get(one.id);
    if (delegation !== undefined && !one.process.end.isEnding)
      await recoverDelegation(one, delegation);
  }
  if (live.parent === null && live.work.isInterrupted && !live.process.end.isEnding)
    live.run.settling = continueSettling(live);
}

/** Whether the delegation has closed, or its output is for the worker of its caller. */
function isDone(live: LiveDelegation): boolean {
  const { isEnding, result } = live.process.end;
  return result !== null || (isEnding && live.parent !== null && outputOf(live) !== null);
}
