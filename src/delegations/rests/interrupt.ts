import type { CloseReason } from "../../events/close-reason.ts";
import type { Agent } from "../agent.ts";
import { event } from "../agent-event.ts";
import { cancelLive } from "../ends/cancel.ts";
import { closeWith } from "../ends/close.ts";
import { type Ending, failure, Suspended } from "../ends/ending.ts";
import { isElsewhere } from "../spread/elsewhere.ts";
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
export async function interruptRoot(
  root: Agent,
  reason: string,
  closesAs: CloseReason = "cancelled",
): Promise<Interrupted> {
  if (root.isInterrupted && root.result === null) return stateOf(root);
  const hasBegun = root.status === "running" && root.stopReason === null;
  if (!hasBegun || root.isEnding || !(root.children ?? []).some(outlivesInterrupt)) {
    return endAtOnce(root, reason, closesAs);
  }
  await suspendRoot(root, reason, closesAs);
  await treatChildren(root);
  root.run.settling = settle(root);
  // Where nobody goes on, it is over when that is in the log.
  if (goingOn(root).length === 0) await root.run.settling;
  return stateOf(root);
}

/** Written first: whoever takes the run up after a crash knows what was asked. */
export async function suspendRoot(
  root: Agent,
  reason: string,
  closesAs: CloseReason,
): Promise<void> {
  const payload = { reason, closes_as: closesAs };
  const written = root.run.append([event(root, "agent.interrupted", payload)]);
  root.appends.add(written);
  const suspension = new Suspended(reason, closesAs);
  root.suspend(suspension);
  // Who goes on hands its result to nobody.
  for (const child of root.children ?? []) child.deliver = null;
  if (!root.isAtWork) await endWork(root, suspension);
  await written;
  while (!root.isParked && !root.isEnding) await root.run.stirred();
}

/** Safe to repeat: who takes the run up does it again. */
export async function treatChildren(root: Agent): Promise<void> {
  const open = (root.children ?? []).filter(({ isEnding }) => !isEnding);
  await Promise.all(open.map((child) => treat(root, child)));
}

function treat(root: Agent, child: Agent): Promise<unknown> | undefined {
  const fate = root.suspension?.letsAllGoOn ? "continue" : child.contract.on_parent_interrupt;
  switch (fate) {
    case "cancel":
      return cancelLive(child, "Its caller was interrupted.");
    case "pause":
      // Nobody here can have it rest where it is; ended, it stops spending, and can be resumed.
      if (isElsewhere(child)) return cancelLive(child, "Its caller was interrupted.");
      return pauseTree(child);
    case "continue":
      // Nobody asks for its result any more, and what it makes is taken over all the same.
      root.merges?.callFor(child.contract.parent.step_idx);
      return undefined;
    default:
      return fate satisfies never;
  }
}

/** Waits for those who go on; then it ends, or rests with those who rest. Never throws. */
export async function settle(root: Agent): Promise<void> {
  const { run } = root;
  try {
    while (goingOn(root).length > 0) {
      await run.stirred();
      if (root.isEnding || run.lost) return;
    }
    if (root.isEnding || run.lost) return;
    if ((root.children ?? []).some(({ result }) => result === null)) await rest(root);
    else await closeWith(root, endingOf(root.suspension));
  } catch (error) {
    await endWork(root, error);
  }
}

/** Watchers rest with what they watch. From here on nobody works on the run. */
async function rest(root: Agent): Promise<void> {
  const { run } = root;
  await Promise.all(run.topLevel.filter((one) => one !== root).map(pauseTree));
  await run.append([event(root, "agent.paused", { reason: "interrupt" })]);
}

/** A child that waits for its turn behind one that rests gets it when that one goes on. */
function goingOn({ children, merges }: Agent): readonly Agent[] {
  const open = children?.filter(({ result }) => result === null) ?? [];
  const resting = new Set(open.filter(isResting).map(stepOf));
  return open.filter(
    (child) =>
      !isResting(child) &&
      !(child.status === "waiting_for_merge" && merges?.isBehind(stepOf(child), resting)),
  );
}

function isResting({ isParked }: Agent): boolean {
  return isParked;
}

function stepOf({ contract }: Agent): number {
  return contract.parent.step_idx;
}

/** It does not end with its caller's interrupt. */
export function outlivesInterrupt({ contract, isEnding }: Agent): boolean {
  return !isEnding && contract.on_parent_interrupt !== "cancel";
}

/** Whether an agent of an interrupted run is not to go on: its part of the tree was not to. */
export function isHeldBack(agent: Agent): boolean {
  const { root } = agent.run;
  if (root === null || !root.isInterrupted || root.suspension?.letsAllGoOn) return false;
  for (let one: Agent | null = agent; one !== null; one = one.parent) {
    if (one.parent === root) return one.contract.on_parent_interrupt !== "continue";
  }
  return false;
}

function endingOf(suspension: Suspended | null): Ending {
  const { closesAs, message } = suspension ?? { closesAs: null, message: "It was interrupted." };
  if (closesAs !== "report_accepted") return failure(closesAs ?? "cancelled", message);
  return { kind: "output", text: message, truncated: false, reason: null };
}

/** There is nobody whom the end of their caller would not end. */
async function endAtOnce(root: Agent, reason: string, closesAs: CloseReason): Promise<Interrupted> {
  const settled = Promise.resolve();
  if (closesAs === "cancelled") {
    const outcome = await cancelLive(root, reason);
    return { outcome: outcome === "cancelled" ? outcome : "already_terminal", settled };
  }
  if (root.isEnding) return { outcome: "already_terminal", settled };
  await closeWith(root, endingOf(new Suspended(reason, closesAs)));
  await root.closing;
  return { outcome: "cancelled", settled };
}

function stateOf(root: Agent): Interrupted {
  const settled = root.run.settling ?? Promise.resolve();
  if (root.result !== null) return { outcome: "cancelled", settled };
  return { outcome: goingOn(root).length > 0 ? "continuing" : "paused", settled };
}
