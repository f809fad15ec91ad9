import { type CriticalSpan, criticalPath } from "./critical-path.ts";
import type { GanttFold, GanttRow } from "./gantt-fold.ts";

/** After so many events of the run, and when that was: a millisecond can have many. */
export interface Moment {
  readonly at: number;
  readonly count: number;
}

export interface Gantt {
  /** Parents before their children, as the tree has them. */
  readonly rows: readonly GanttRow[];
  readonly from: number;
  readonly to: number;
  readonly critical: ReadonlyMap<string, readonly CriticalSpan[]>;
}

/**
 * Who did what when in a run, and what its length comes from, as it was at a moment: what came later
 * is not there yet.
 */
export function ganttFrom(fold: GanttFold, { at, count }: Moment): Gantt {
  const rows = inOrder(fold.rows.filter(({ place }) => place <= count));
  return { rows, from: fold.startedAt, to: at, critical: criticalPath(rows, at) };
}

function inOrder(rows: readonly GanttRow[]): readonly GanttRow[] {
  const children = Map.groupBy(rows, ({ parentId }) => parentId);
  const known = new Set(rows.map(({ id }) => id));
  const ordered: GanttRow[] = [];
  const visit = (row: GanttRow): void => {
    ordered.push(row);
    for (const child of children.get(row.id) ?? []) visit(child);
  };
  for (const row of rows) if (row.parentId === null || !known.has(row.parentId)) visit(row);
  return ordered;
}
