import { describeAnswered } from "../../application/commands/describe-run.ts";
import { labelOfEnd } from "../../events/cause.ts";
import { type Delegation, shownName, type WaitingOn } from "../../events/delegation.ts";
import { childrenByParent } from "../../events/run-state.ts";
import { addSpent, atMost, atMostCost, type Spent, spentOf } from "../../events/spent.ts";
import { formatCost, formatElapsed, formatTokens } from "./amounts.ts";
import { printableLine } from "./printable.ts";
import type { AgentNotes, RunView } from "./run-view.ts";

export type Mark = "working" | "queued" | "asking" | "done" | "failed" | "stopped";

/** One delegation in a tree, as text without colours. */
export interface TreeRow {
  readonly id: string;
  /** For each level above: whether more siblings follow, which draws the stem. */
  readonly lineage: readonly boolean[];
  readonly mark: Mark;
  readonly who: string;
  readonly title: string;
  readonly activity: string;
  /** The tokens of the delegation and its sub-agents, as its budget counts them. */
  readonly tokens: string;
  readonly cost: string;
  readonly elapsed: string;
  readonly isOpen: boolean;
}

export function treeRows(view: RunView, now: number): TreeRow[] {
  const children = childrenByParent(view.state);
  const rows: TreeRow[] = [];
  const visit = (delegation: Delegation, lineage: readonly boolean[]): Spent => {
    const below = children.get(delegation.id) ?? [];
    const place = rows.length;
    rows.length += 1;
    let spent = spentOf(delegation);
    for (const [index, child] of below.entries()) {
      spent = addSpent(spent, visit(child, [...lineage, index < below.length - 1]));
    }
    rows[place] = rowOf(view, delegation, below, lineage, spent, now);
    return spent;
  };
  const tops = children.get(null) ?? [];
  for (const [index, top] of tops.entries()) {
    visit(top, tops.length === 1 ? [] : [index < tops.length - 1]);
  }
  return rows;
}

function rowOf(
  view: RunView,
  delegation: Delegation,
  below: readonly Delegation[],
  lineage: readonly boolean[],
  spent: Spent,
  now: number,
): TreeRow {
  const notes = view.notesOf(delegation.id);
  const isOpen = delegation.status !== "closed";
  const until = delegation.status === "closed" ? delegation.closedAt : now;
  const cap = notes.budget === null ? "" : `/${formatTokens(notes.budget)}`;
  return {
    id: delegation.id,
    lineage,
    mark: markOf(delegation, view.isInterrupted),
    who: printableLine(shownName(delegation)),
    // The root's title is the task of the run, which is drawn above the tree.
    title: delegation.depth === 0 ? "" : printableLine(delegation.title),
    activity: describeActivity(delegation, {
      below,
      notes,
      isInterrupted: view.isInterrupted,
      now,
    }),
    tokens: atMost(`${formatTokens(spent.tokens)}${cap}`, spent),
    cost: atMostCost(formatCost(spent.cost), spent),
    elapsed: view.isInterrupted && isOpen ? "" : formatElapsed(until - delegation.createdAt),
    isOpen,
  };
}

function markOf(delegation: Delegation, isInterrupted: boolean): Mark {
  switch (delegation.status) {
    case "created":
      return isInterrupted ? "stopped" : "queued";
    case "running":
      if (isInterrupted) return "stopped";
      return delegation.ask === null ? "working" : "asking";
    case "waiting_for_merge":
      if (isInterrupted) return "stopped";
      return delegation.ask === null ? "working" : "asking";
    case "completed":
    case "failed":
      return isInterrupted ? "stopped" : "working";
    case "closed":
      if (delegation.finalStatus === "completed") return "done";
      return delegation.closeReason === "cancelled" ? "stopped" : "failed";
    default:
      return delegation satisfies never;
  }
}

interface Circumstances {
  readonly below: readonly Delegation[];
  readonly notes: AgentNotes;
  readonly isInterrupted: boolean;
  readonly now: number;
}

/** What a delegation is doing, or how it ended, in a few words. */
export function describeActivity(delegation: Delegation, circumstances: Circumstances): string {
  const { notes } = circumstances;
  const parts = [stateOf(delegation, circumstances)];
  if (delegation.attempt > 1) parts.push(`attempt ${delegation.attempt}/${notes.attempts}`);
  if (delegation.unmetered) parts.push("not metered");
  if (notes.refusals > 0) parts.push(`${notes.refusals} refused`);
  return parts.join(", ");
}

function stateOf(delegation: Delegation, { below, isInterrupted, now }: Circumstances): string {
  if (delegation.status === "closed") {
    if (delegation.finalStatus === "failed") return labelOfEnd(delegation);
    return delegation.output?.truncated ? "done, cut short" : "done";
  }
  if (isInterrupted) return "interrupted";
  if (delegation.status === "created") return "queued";
  if (delegation.status === "waiting_for_merge") return handingIn(delegation, below);
  if (delegation.status !== "running") return "handing in";
  const { waitingOn } = delegation;
  const open = below.filter(({ status }) => status !== "closed").length;
  const isJoining = waitingOn.on === "child" || waitingOn.on === "runtime";
  if (open > 0 && isJoining) return `waits for ${open} of ${below.length}`;
  return describeWaiting(waitingOn, now);
}

function handingIn(
  { ask, isPaused, output }: Extract<Delegation, { status: "waiting_for_merge" }>,
  below: readonly Delegation[],
): string {
  if (isPaused) return "paused";
  const running = below.filter(({ id, status }) => {
    return status !== "closed" && output.running?.includes(id);
  });
  return running.length > 0 && ask === null ? describeAnswered(running.length) : "handing in";
}

export function describeWaiting(waitingOn: WaitingOn, now: number): string {
  switch (waitingOn.on) {
    case "model": {
      const wait = (waitingOn.until ?? now) - now;
      return wait > 0 ? `retry in ${(wait / 1000).toFixed(1)} s` : "model";
    }
    case "tool":
      return printableLine(waitingOn.detail);
    case "child":
      return "delegating";
    case "answer":
      return `asks you (${waitingOn.detail})`;
    case "approval":
      return `approval (${printableLine(waitingOn.detail)})`;
    case "lock":
      return `lock (${printableLine(waitingOn.detail)})`;
    case "slot":
      return "queued";
    case "budget":
      return "waits for budget";
    case "paused":
      return "paused";
    case "runtime":
      return "working";
    default:
      return waitingOn satisfies never;
  }
}
