import { type Cause, closeReasonOf, describeCause } from "../../events/cause.ts";
import { closeWith } from "../ends/close.ts";
import { type Ending, failure, Suspended } from "../ends/ending.ts";
import {
  event,
  isAtWork,
  type LiveDelegation,
  openChildren,
  outputOf,
} from "../live-delegation.ts";
import { endWork } from "../work.ts";
import { pauseStored } from "./suspend-stored.ts";

/** Pauses a delegation and everything below it. Resolves when the log says so. */
async function pauseTree(live: LiveDelegation): Promise<void> {
  const pausing = pause(live);
  // Listed only now: from here on it makes no more children.
  const below = live.process.children.map(pauseTree);
  await Promise.all([pausing, ...below]);
}

/** Pauses one delegation alone; its caller decides about those below it. */
export async function pause(live: LiveDelegation): Promise<void> {
  const { end } = live.process;
  while (end.merging !== null) await end.merging.promise;
  if (end.isEnding || live.work.isParked || live.work.stopReason !== null) return;
  await suspend(live, new Suspended({ code: "paused" }));
}

/** Resolves when its work has been left, or can no longer be. */
async function suspend(live: LiveDelegation, suspension: Suspended): Promise<void> {
  const { process, run } = live;
  live.work.suspend(suspension);
  if (!isAtWork(live)) await endWork(live, suspension);
  while (!live.work.isParked && !process.end.isEnding && !run.lost) await run.changed.next();
}

/** What became of a run whose caller stopped. */
export interface Interrupted {
  /** `continuing`: some of its agents continue to their end, as their contracts say. */
  readonly outcome: "cancelled" | "continuing" | "paused" | "already_terminal";
  /** Resolves when no work of the run continues any more. */
  readonly settled: Promise<unknown>;
}

/**
 * The caller of a run's root stops: the root takes no further turn, and its children are cancelled,
 * paused or continue, as the contract of each says. It is in the log before it takes effect, and is
 * acknowledged when nothing begins any more among those that do not continue.
 */
export async function interruptRoot(root: LiveDelegation, cause: Cause): Promise<Interrupted> {
  const { end } = root.process;
  if (root.work.isInterrupted && end.result === null) return stateOf(root);
  // After its answer only its background children are left, and their contracts decide.
  const hasAnswered = outputOf(root) !== null && !end.isEnding;
  if (!hasAnswered) {
    const hasBegun = root.state.status === "running" && root.work.stopReason === null;
    if (!hasBegun || end.isEnding || !root.process.children.some(outlivesInterrupt)) {
      return closeAtOnce(root, cause);
    }
    await suspendRoot(root, cause);
  }
  await treatChildren(root);
  root.run.settling = settle(root);
  if (goingOn(root).length === 0) await root.run.settling;
  return stateOf(root);
}

/** Written first: a recovery after a crash knows what was asked. */
export async function suspendRoot(
  root: LiveDelegation,
  cause: Cause,
  { letsAllGoOn = false } = {},
): Promise<void> {
  const reason = describeCause(cause);
  const payload = {
    ...{ cause, reason, closes_as: closeReasonOf(cause) },
    ...(letsAllGoOn && { resumed: true as const }),
  };
  const interrupted = event(root, "agent.interrupted", payload);
  const written = root.run.append([interrupted]);
  root.process.appends.add(written);
  root.follow([interrupted]);
  // Children that continue are detached: their result is stored, not delivered.
  for (const child of root.process.children) child.process.end.deliver = null;
  await suspend(root, new Suspended(cause, letsAllGoOn));
  await written;
}

/** Safe to repeat: a recovery does it again. */
export async function treatChildren(root: LiveDelegation): Promise<void> {
  const open = root.process.children.filter(({ process }) => !process.end.isEnding);
  await Promise.all(open.map((child) => treat(root, child)));
}

function treat(root: LiveDelegation, child: LiveDelegation): Promise<unknown> | undefined {
  const { execution } = child.run;
  const fate = root.work.suspension?.letsAllGoOn ? "continue" : child.contract.on_parent_interrupt;
  switch (fate) {
    case "pause":
      callForIfAwaited(root, child);
      if (!execution.isRemote(child)) return pauseTree(child);
      return pauseStored(child.run.parts, child.run.id, child.id);
    case "cancel":
      return execution.cancel(child, { code: "caller_interrupted" });
    case "continue":
      // No caller asks for its result any more, and what it makes is merged all the same.
      root.process.merges?.callFor(child.contract.parent.step_idx);
      return undefined;
    default:
      return fate satisfies never;
  }
}

/** After a crash: what the open call of the caller waits for is merged in its turn. */
function callForIfAwaited(root: LiveDelegation, child: LiveDelegation): void {
  const [callId = ""] = child.state.callId?.split("/") ?? [];
  if (root.said.openCalls.has(callId)) root.process.merges?.callFor(stepOf(child));
}

/** Waits for children that continue; then the root closes, or rests with children that rest. Never throws. */
export async function settle(root: LiveDelegation): Promise<void> {
  const { run } = root;
  const { end } = root.process;
  const isOver = (): boolean => end.isEnding || run.lost;
  try {
    while (goingOn(root).length > 0 && !isOver()) await run.changed.next();
    const isOpen = openChildren(root).length > 0;
    // After an answer it closes by itself with its last child.
    if (outputOf(root) !== null && !isOpen) await end.whenClosed();
    if (isOver()) return;
    if (!isOpen) return await closeWith(root, endingOf(root.work.suspension));
    if (!root.work.isInterrupted) await pause(root);
    if (root.work.isInterrupted || root.work.isParked) await rest(root);
  } catch (error) {
    await endWork(root, error);
  }
}

/** Watchers rest with what they watch. From here on no process works on the run. */
async function rest(root: LiveDelegation): Promise<void> {
  const { run } = root;
  await Promise.all(run.delegations.topLevel.filter((one) => one !== root).map(pauseTree));
  const paused = event(root, "agent.paused", { reason: "interrupt" });
  await run.append([paused]);
  root.follow([paused]);
}

/** A child whose merge waits behind one that rests waits with it. */
function goingOn(root: LiveDelegation): readonly LiveDelegation[] {
  const { merges } = root.process;
  const open = openChildren(root);
  const resting = new Set(open.filter(({ work }) => work.isParked).map(stepOf));
  return open.filter(
    (child) =>
      !child.work.isParked &&
      !(child.state.status === "waiting_for_merge" && merges?.isBehind(stepOf(child), resting)),
  );
}

function stepOf({ contract }: LiveDelegation): number {
  return contract.parent.step_idx;
}

/** Whether a child outlives the interrupt of its caller. */
export function outlivesInterrupt({ contract, process }: LiveDelegation): boolean {
  return !process.end.isEnding && contract.on_parent_interrupt !== "cancel";
}

/** Whether an agent of an interrupted run does not continue: its part of the tree was not to. */
export function isHeldBack(live: LiveDelegation): boolean {
  const { root } = live.run.delegations;
  if (root === null || !root.work.isInterrupted || root.work.suspension?.letsAllGoOn) return false;
  for (let one: LiveDelegation | null = live; one !== null; one = one.parent) {
    if (one.parent === root) return one.contract.on_parent_interrupt !== "continue";
  }
  return false;
}

function endingOf(suspension: Suspended | null): Ending {
  const cause: Cause = suspension?.cause ?? { code: "caller_interrupted" };
  if (closeReasonOf(cause) !== "report_accepted") return failure(cause);
  return { kind: "output", text: describeCause(cause), truncated: false, reason: null };
}

/** Every child would end with its caller. */
async function closeAtOnce(root: LiveDelegation, cause: Cause): Promise<Interrupted> {
  const settled = Promise.resolve();
  if (closeReasonOf(cause) === "cancelled") {
    const outcome = await root.run.execution.cancel(root, cause);
    return { outcome: outcome === "cancelled" ? outcome : "already_terminal", settled };
  }
  if (root.process.end.isEnding) return { outcome: "already_terminal", settled };
  await closeWith(root, endingOf(new Suspended(cause)));
  await root.process.end.closing;
  return { outcome: "cancelled", settled };
}

function stateOf(root: LiveDelegation): Interrupted {
  const settled = root.run.settling ?? Promise.resolve();
  if (root.process.end.result !== null) return { outcome: "cancelled", settled };
  return { outcome: goingOn(root).length > 0 ? "continuing" : "paused", settled };
}
