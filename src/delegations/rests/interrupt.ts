import { type Cause, closeReasonOf, describeCause } from "../../events/cause.ts";
import type { CancelOutcome } from "../../ports/delegator.ts";
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
import { pauseTree } from "./pause.ts";

/** What became of a run whose caller stopped. */
export interface Interrupted {
  /** `continuing`: some of its agents go on to their end, as their contracts say. */
  readonly outcome: "cancelled" | "continuing" | "paused" | "already_terminal";
  /** When nothing of it goes on any more. */
  readonly settled: Promise<unknown>;
}

/**
 * The caller of a run's root stops: it takes no further turn, and those to whom it delegated are
 * cancelled, paused or go on, as the contract of each says. It is in the log before it takes effect,
 * and is acknowledged when nothing begins any more among those who do not go on.
 */
export async function interruptRoot(root: LiveDelegation, cause: Cause): Promise<Interrupted> {
  if (root.work.isInterrupted && root.process.end.result === null) return stateOf(root);
  if (outputOf(root) !== null && !root.process.end.isEnding) return interruptAnswered(root);
  const hasBegun = root.state.status === "running" && root.work.stopReason === null;
  if (!hasBegun || root.process.end.isEnding || !root.process.children.some(outlivesInterrupt)) {
    return endAtOnce(root, cause);
  }
  await suspendRoot(root, cause);
  await treatChildren(root);
  root.run.settling = settle(root);
  // Where nobody goes on, it is over when that is in the log.
  if (goingOn(root).length === 0) await root.run.settling;
  return stateOf(root);
}

/** It has answered: only its background children are left, and their contracts say what becomes of them. */
async function interruptAnswered(root: LiveDelegation): Promise<Interrupted> {
  await treatChildren(root);
  root.run.settling = settleAnswered(root);
  if (goingOn(root).length === 0) await root.run.settling;
  return stateOf(root);
}

/** It closes by itself after its last child; where children rest, it rests with them. */
async function settleAnswered(root: LiveDelegation): Promise<void> {
  const { run } = root;
  while (goingOn(root).length > 0 && !root.process.end.isEnding && !run.lost)
    await run.changed.next();
  if (openChildren(root).length === 0) {
    await root.process.end.whenClosed();
    return;
  }
  const suspension = new Suspended({ code: "paused" });
  root.work.suspend(suspension);
  if (!isAtWork(root)) await endWork(root, suspension);
  while (!root.work.isParked && !root.process.end.isEnding && !run.lost) await run.changed.next();
  if (root.work.isParked) await rest(root);
}

/** Written first: whoever takes the run up after a crash knows what was asked. */
export async function suspendRoot(root: LiveDelegation, cause: Cause): Promise<void> {
  const reason = describeCause(cause);
  const payload = { cause, reason, closes_as: closeReasonOf(cause) };
  const interrupted = event(root, "agent.interrupted", payload);
  const written = root.run.append([interrupted]);
  root.process.appends.add(written);
  root.follow([interrupted]);
  const suspension = new Suspended(cause);
  root.work.suspend(suspension);
  // Who goes on hands its result to nobody.
  for (const child of root.process.children) child.process.end.deliver = null;
  if (!isAtWork(root)) await endWork(root, suspension);
  await written;
  while (!root.work.isParked && !root.process.end.isEnding) await root.run.changed.next();
}

/** Safe to repeat: who takes the run up does it again. */
export async function treatChildren(root: LiveDelegation): Promise<void> {
  const open = root.process.children.filter(({ process }) => !process.end.isEnding);
  await Promise.all(open.map((child) => treat(root, child)));
}

function treat(root: LiveDelegation, child: LiveDelegation): Promise<unknown> | undefined {
  const fate = root.work.suspension?.letsAllGoOn ? "continue" : child.contract.on_parent_interrupt;
  switch (fate) {
    case "cancel":
      return cancel(child);
    case "pause":
      // Nobody here can have it rest where it is; ended, it stops spending, and can be resumed.
      if (child.run.execution.isRemote(child)) return cancel(child);
      return pauseTree(child);
    case "continue":
      // Nobody asks for its result any more, and what it makes is taken over all the same.
      root.process.merges?.callFor(child.contract.parent.step_idx);
      return undefined;
    default:
      return fate satisfies never;
  }
}

function cancel(child: LiveDelegation): Promise<CancelOutcome> {
  return child.run.execution.cancel(child, { code: "caller_interrupted" });
}

/** Waits for those who go on; then it ends, or rests with those who rest. Never throws. */
export async function settle(root: LiveDelegation): Promise<void> {
  const { run } = root;
  try {
    while (goingOn(root).length > 0) {
      await run.changed.next();
      if (root.process.end.isEnding || run.lost) return;
    }
    if (root.process.end.isEnding || run.lost) return;
    if (root.process.children.some(({ process }) => process.end.result === null)) await rest(root);
    else await closeWith(root, endingOf(root.work.suspension));
  } catch (error) {
    await endWork(root, error);
  }
}

/** Watchers rest with what they watch. From here on nobody works on the run. */
async function rest(root: LiveDelegation): Promise<void> {
  const { run } = root;
  await Promise.all(run.delegations.topLevel.filter((one) => one !== root).map(pauseTree));
  const paused = event(root, "agent.paused", { reason: "interrupt" });
  await run.append([paused]);
  root.follow([paused]);
}

/** A child that waits for its turn behind one that rests gets it when that one goes on. */
function goingOn({ process }: LiveDelegation): readonly LiveDelegation[] {
  const { children, merges } = process;
  const open = children.filter((child) => child.process.end.result === null);
  const resting = new Set(open.filter(isResting).map(stepOf));
  return open.filter(
    (child) =>
      !isResting(child) &&
      !(child.state.status === "waiting_for_merge" && merges?.isBehind(stepOf(child), resting)),
  );
}

function isResting({ work }: LiveDelegation): boolean {
  return work.isParked;
}

function stepOf({ contract }: LiveDelegation): number {
  return contract.parent.step_idx;
}

/** It does not end with its caller's interrupt. */
export function outlivesInterrupt({ contract, process }: LiveDelegation): boolean {
  return !process.end.isEnding && contract.on_parent_interrupt !== "cancel";
}

/** Whether an agent of an interrupted run is not to go on: its part of the tree was not to. */
export function isHeldBack(agent: LiveDelegation): boolean {
  const { root } = agent.run.delegations;
  if (root === null || !root.work.isInterrupted || root.work.suspension?.letsAllGoOn) return false;
  for (let one: LiveDelegation | null = agent; one !== null; one = one.parent) {
    if (one.parent === root) return one.contract.on_parent_interrupt !== "continue";
  }
  return false;
}

function endingOf(suspension: Suspended | null): Ending {
  const cause: Cause = suspension?.cause ?? { code: "caller_interrupted" };
  if (closeReasonOf(cause) !== "report_accepted") return failure(cause);
  return { kind: "output", text: describeCause(cause), truncated: false, reason: null };
}

/** There is nobody whom the end of their caller would not end. */
async function endAtOnce(root: LiveDelegation, cause: Cause): Promise<Interrupted> {
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
