import { atMost, atMostCost, spentIn } from "../../events/spent.ts";
import { countOf, formatCost, formatElapsed, formatTokens } from "./amounts.ts";
import { shorten } from "./display-width.ts";
import { drawRows, type RowFrame } from "./draw-rows.ts";
import { printableLine } from "./printable.ts";
import type { RunView } from "./run-view.ts";
import type { Style } from "./style.ts";
import { type TreeRow, treeRows } from "./tree-rows.ts";

export interface TreeFrame extends RowFrame {
  readonly now: number;
  /** Lines that may be used; absent: as many as it takes. */
  readonly rows?: number;
}

/** A run as lines: its task, its agents as a tree, and what it all came to. */
export function drawTree(view: RunView, style: Style, frame: TreeFrame): string[] {
  const rows = treeRows(view, frame.now);
  const { shown, hidden } = cut(rows, frame.rows === undefined ? rows.length : frame.rows - 2);
  const lines = [headLine(view, style, frame.columns), ...drawRows(shown, style, frame)];
  const sum = hiddenNote(hidden, style) + sumLine(view, style, frame.now);
  return [...lines, style.paint.dim(shorten(`  ${sum}`, frame.columns - 1, style.glyphs.ellipsis))];
}

/** What is over goes first; then what comes last. The count of both stays. */
function cut(rows: readonly TreeRow[], limit: number): { shown: TreeRow[]; hidden: TreeRow[] } {
  const room = Math.max(1, limit);
  if (rows.length <= room) return { shown: [...rows], hidden: [] };
  const dispensable = rows.filter(({ mark }) => mark === "done").slice(0, rows.length - room);
  const gone = new Set(dispensable);
  const left = rows.filter((row) => !gone.has(row));
  const shown = left.slice(0, room);
  return { shown, hidden: rows.filter((row) => !shown.includes(row)) };
}

function hiddenNote(hidden: readonly TreeRow[], { glyphs }: Style): string {
  if (hidden.length === 0) return "";
  const open = hidden.filter(({ isOpen }) => isOpen).length;
  const ended = hidden.length - open;
  const parts = [...(ended > 0 ? [`${ended} ended`] : []), ...(open > 0 ? [`${open} open`] : [])];
  return `${glyphs.ellipsis} and ${hidden.length} more (${parts.join(", ")}) ${glyphs.dot} `;
}

function headLine({ state }: RunView, { paint, glyphs }: Style, columns: number): string {
  const task = shorten(printableLine(state.task), columns - state.id.length - 3, glyphs.ellipsis);
  return `${paint.dim(state.id)}  ${paint.strong(task)}`;
}

function sumLine({ state, isInterrupted }: RunView, { glyphs }: Style, now: number): string {
  const spent = spentIn(state);
  return [
    countOf(state.delegations.size, "agent"),
    atMost(`${formatTokens(spent.tokens)} tokens`, spent),
    atMostCost(formatCost(spent.cost), spent),
    isInterrupted ? "interrupted" : formatElapsed((state.finishedAt ?? now) - state.startedAt),
  ].join(` ${glyphs.dot} `);
}
