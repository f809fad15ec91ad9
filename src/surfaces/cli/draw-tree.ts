import { atMost, atMostCost, spentIn } from "../../events/spent.ts";
import { countOf, formatCost, formatElapsed, formatTokens } from "./amounts.ts";
import { displayWidth, padEnd, padStart, shorten } from "./display-width.ts";
import { printableLine } from "./printable.ts";
import type { RunView } from "./run-view.ts";
import type { Style } from "./style.ts";
import { type Mark, type TreeRow, treeRows } from "./tree-rows.ts";

export interface TreeFrame extends RowFrame {
  readonly now: number;
  /** How many lines may be used; absent: no limit. */
  readonly rows?: number;
}

/** A run as lines: its task, its agents as a tree, and the sum. */
export function drawTree(view: RunView, style: Style, frame: TreeFrame): string[] {
  const rows = treeRows(view, frame.now);
  const { shown, hidden } = cut(rows, frame.rows === undefined ? rows.length : frame.rows - 2);
  const lines = [headLine(view, style, frame.columns), ...drawRows(shown, style, frame)];
  const sum = hiddenNote(hidden, style) + sumLine(view, style, frame.now);
  return [...lines, style.paint.dim(shorten(`  ${sum}`, frame.columns - 1, style.glyphs.ellipsis))];
}

/** Leaves out completed rows first, then the last rows; their number is shown. */
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

/** The column keeps this width while its texts change. */
const usualActivity = 18;
/** Fewer letters of a task than this say nothing. */
const leastTitle = 12;
const leastForNumbers = 60;

export interface RowFrame {
  readonly columns: number;
  /** The number of the spinner's picture; absent: the spinner stands still. */
  readonly beat?: number;
}

/** The agents of a tree, one line each, in columns that fit the width. */
export function drawRows(rows: readonly TreeRow[], style: Style, frame: RowFrame): string[] {
  const { paint, glyphs } = style;
  const numbers = frame.columns < leastForNumbers ? [] : numberColumns(rows);
  const stems = rows.map((row) => stemOf(row, style));
  const widest = Math.max(
    ...rows.map((row, index) => displayWidth((stems[index] ?? "") + row.who)),
    0,
  );
  const nameWidth = Math.min(widest, 36);
  const idWidth = Math.max(...rows.map(({ id }) => id.length), 0);
  // One cell stays free at the end: some terminals break a line that is exactly full.
  const room =
    frame.columns - 1 - (2 + nameWidth + 1 + idWidth + 2) - (displayWidth(numbers[0] ?? "") + 2);
  const longest = Math.max(...rows.map(({ activity }) => activity.length), usualActivity);
  const rest = room - Math.min(longest, 32) - 2;
  const titleWidth = rest >= leastTitle ? rest : 0;
  const activityWidth = Math.max(0, titleWidth > 0 ? room - titleWidth - 2 : room);
  const column = (text: string, width: number) =>
    padEnd(shorten(text, width, glyphs.ellipsis), width);
  return rows.map((row, index) => {
    const stem = stems[index] ?? "";
    return [
      paint.dim(stem),
      `${drawMark(row.mark, style, frame.beat)} `,
      column(row.who, nameWidth - displayWidth(stem)),
      ` ${paint.dim(row.id)}  `,
      titleWidth > 0 ? `${column(row.title, titleWidth)}  ` : "",
      `${toneOf(row, style)(column(row.activity, activityWidth))}  `,
      paint.dim(numbers[index] ?? ""),
    ].join("");
  });
}

function stemOf({ lineage }: TreeRow, { glyphs }: Style): string {
  return lineage
    .map((more, level) => {
      if (level === lineage.length - 1) return more ? glyphs.branch : glyphs.lastBranch;
      return more ? glyphs.stem : glyphs.space;
    })
    .join("");
}

/** Numbers are right-aligned, as wide as the widest of them. */
function numberColumns(rows: readonly TreeRow[]): string[] {
  const widthOf = (pick: (row: TreeRow) => string) =>
    Math.max(...rows.map((row) => pick(row).length), 0);
  const tokens = widthOf((row) => row.tokens);
  const cost = widthOf((row) => row.cost);
  const elapsed = widthOf((row) => row.elapsed);
  return rows.map((row) =>
    [padStart(row.tokens, tokens), padStart(row.cost, cost), padStart(row.elapsed, elapsed)].join(
      "  ",
    ),
  );
}

function drawMark(mark: Mark, { paint, glyphs }: Style, beat: number | undefined): string {
  switch (mark) {
    case "working":
      return paint.accent(glyphs.spinner[(beat ?? 0) % glyphs.spinner.length] ?? "");
    case "queued":
      return paint.dim(glyphs.queued);
    case "asking":
      return paint.warn(glyphs.asking);
    case "done":
      return paint.good(glyphs.done);
    case "failed":
      return paint.bad(glyphs.failed);
    case "stopped":
      return paint.warn(glyphs.stopped);
    default:
      return mark satisfies never;
  }
}

function toneOf({ mark, activity }: TreeRow, { paint }: Style): (text: string) => string {
  if (mark === "failed") return paint.bad;
  if (mark === "asking" || mark === "stopped") return paint.warn;
  if (activity.includes("refused") || activity.includes("attempt")) return paint.warn;
  return mark === "done" ? paint.good : (text) => text;
}
