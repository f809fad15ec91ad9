import type { Delegation } from "../../../../src/events/delegation.ts";
import { childrenByParent } from "../../../../src/events/run-state.ts";
import { addSpent, type Spent, spentOf } from "../../../../src/events/spent.ts";
import { type DelegationNotes, noNotes } from "../../data/delegation-notes.ts";
import type { RunView } from "./replay/use-replay.ts";

export interface TreeRow {
  readonly delegation: Delegation;
  readonly notes: DelegationNotes;
  readonly depth: number;
  readonly children: number;
  readonly openChildren: number;
  readonly isFolded: boolean;
  /** With all agents below it: budgets are of whole trees. */
  readonly spent: Spent;
  /** Null: not known (yet). */
  readonly capTokens: number | null;
  readonly requested: string | null;
}

/** The tree as rows: parents before their children, without what is folded away. */
export function treeRows(feed: RunView, folded: ReadonlySet<string>): readonly TreeRow[] {
  const children = childrenByParent(feed.state);
  const details = new Map(feed.detail?.tree.map((row) => [row.delegationId, row]));
  const rows: TreeRow[] = [];
  const visit = (delegation: Delegation, depth: number, isHidden: boolean): Spent => {
    const below = children.get(delegation.id) ?? [];
    const place = rows.length;
    if (!isHidden) rows.length += 1;
    const isFolded = folded.has(delegation.id);
    let spent = spentOf(delegation);
    let openChildren = 0;
    for (const child of below) {
      spent = addSpent(spent, visit(child, depth + 1, isHidden || isFolded));
      if (child.status !== "closed") openChildren += 1;
    }
    const notes = feed.notes.get(delegation.id) ?? noNotes;
    const detail = details.get(delegation.id);
    if (!isHidden) {
      rows[place] = {
        ...{ delegation, notes, depth, openChildren, isFolded, spent },
        children: below.length,
        capTokens: detail?.cap?.tokens ?? null,
        requested: notes.requested ?? detail?.model.requested ?? null,
      };
    }
    return spent;
  };
  for (const root of children.get(null) ?? []) visit(root, 0, false);
  return rows;
}
