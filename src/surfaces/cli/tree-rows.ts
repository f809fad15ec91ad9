import { type Delegation, shownName } from "../../events/delegation.ts";
import { childrenByParent } from "../../events/run-state.ts";
import { addSpent, atMost, atMostCost, type Spent, spentOf } from "../../events/spent.ts";
import { formatCost, formatElapsed, formatTokens } from "./amounts.ts";
import { describeActivity } from "./describe-activity.ts";
import { printableLine } from "./printable.ts";
import type { RunView } from "./run-view.ts";

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
  /** Of the delegation and everything below it, which is what its cap is about. */
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
    // The root's is the task of the run, which stands above the tree.
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
