import { type Delegation, shownName } from "../../../events/delegation.ts";
import { childrenByParent, type RunState } from "../../../events/run-state.ts";
import { atMost, spentOf, sumOf } from "../../../events/spent.ts";
import { headOf } from "../../../text.ts";
import { printableLine } from "../../cli/printable.ts";
import { describeActivity } from "../../cli/tree-rows.ts";

/** How far the delegations below a call have come, for somebody who waits for it. */
export interface TreeState {
  /** Less than `total` as long as one of them is open. */
  readonly progress: number;
  readonly total: number;
  readonly message: string;
}

export const beginning: TreeState = { progress: 0, total: 1, message: "starting" };

/** `tops`: what the call delegated; all that is below them counts. */
export function describeTree(run: RunState, tops: readonly string[], now: number): TreeState {
  const below = childrenByParent(run);
  const all: Delegation[] = [];
  const visit = (delegation: Delegation): void => {
    all.push(delegation);
    for (const child of below.get(delegation.id) ?? []) visit(child);
  };
  const roots = tops.flatMap((id) => run.delegations.get(id) ?? []);
  for (const root of roots) visit(root);
  if (all.length === 0) return beginning;
  const activity = (one: Delegation): string => {
    const doing = describeDoing(one, below.get(one.id) ?? [], now);
    return `${printableLine(shownName(one))} ${one.id}: ${doing}`;
  };
  const open = all.filter(({ status }) => status !== "closed");
  const [root = all[0]] = roots;
  const first = roots.length === 1 ? root : open[0];
  // Who is at work for the one that waits, nearest to the work itself.
  const worker = open.findLast((one) => one !== first && isAtWork(one));
  const done = all.length - open.length;
  const spent = sumOf(all.map(spentOf));
  const parts = [
    ...(first === undefined ? [] : [activity(first)]),
    ...(worker === undefined ? [] : [activity(worker)]),
    ...(all.length === 1 ? [] : [countDone(roots, all, done)]),
    atMost(`${spent.tokens.toLocaleString("en-US")} tokens`, spent),
  ];
  const progress = done + open.reduce((sum, one) => sum + shareOf(one), 0);
  return { progress, total: all.length, message: parts.join(" · ") };
}

function describeDoing(one: Delegation, below: readonly Delegation[], now: number): string {
  const waitingOn = one.status === "running" ? one.waitingOn : undefined;
  if (waitingOn?.on === "model" && (waitingOn.until ?? now) <= now) return "waiting on model";
  if (waitingOn?.on === "tool") return `running ${headOf(printableLine(waitingOn.detail), 100)}`;
  const notes = { budget: null, refusals: 0, attempts: one.attempt, resumptions: 0 };
  return describeActivity(one, { below, notes, isInterrupted: false, now });
}

function countDone(roots: readonly Delegation[], all: readonly Delegation[], done: number): string {
  if (roots.length > 1) return `${done} of ${all.length} sub-agents done`;
  const isRootDone = roots[0]?.status === "closed";
  return `${done - (isRootDone ? 1 : 0)} of ${all.length - 1} children done`;
}

function isAtWork(delegation: Delegation): boolean {
  return delegation.status === "running" && delegation.waitingOn.on !== "child";
}

/** Grows with what it does and never reaches the whole. */
function shareOf({ toolCalls, turns }: Delegation): number {
  return 1 - 1 / (1 + 0.2 * (turns + toolCalls));
}
