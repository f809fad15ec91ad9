import { countOf, formatCost, formatElapsed, formatTokens } from "./amounts.ts";
import { displayWidth, padEnd, padStart, shorten } from "./display-width.ts";
import { printableLine } from "./printable.ts";
import type { RunView } from "./run-view.ts";
import type { Style } from "./style.ts";
import { type Mark, type TreeRow, treeRows } from "./tree-rows.ts";

export interface TreeFrame {
  readonly now: number;
  readonly columns: number;
  /** Lines that may be used; absent: as many as it takes. */
  readonly rows?: number;
  /** Which picture of the spinner; absent: it stands still. */
  readonly beat?: number;
}

/** From here on there is room for what each agent was asked to do. */
const wideEnoughForTitles = 100;

/** A run as lines: its task, its agents as a tree, and what it all came to. */
export function drawTree(view: RunView, style: Style, frame: TreeFrame): string[] {
  const rows = treeRows(view, frame.now);
  const { shown, hidden } = cut(rows, frame.rows === undefined ? rows.length : frame.rows - 2);
  const lines = [headLine(view, style, frame.columns), ...drawRows(shown, style, frame)];
  if (hidden.length > 0) lines.push(style.paint.dim(hiddenLine(hidden, style)));
  else lines.push(style.paint.dim(`  ${sumLine(view, style, frame.now)}`));
  return lines;
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

function hiddenLine(hidden: readonly TreeRow[], { glyphs }: Style): string {
  const done = hidden.filter(({ isOpen }) => !isOpen).length;
  const open = hidden.length - done;
  const parts = [...(done > 0 ? [`${done} ended`] : []), ...(open > 0 ? [`${open} at work`] : [])];
  return `  ${glyphs.ellipsis} and ${hidden.length} more: ${parts.join(", ")}`;
}

function headLine({ state }: RunView, { paint, glyphs }: Style, columns: number): string {
  const task = shorten(printableLine(state.task), columns - state.id.length - 3, glyphs.ellipsis);
  return `${paint.dim(state.id)}  ${paint.strong(task)}`;
}

function sumLine({ state, isInterrupted }: RunView, { glyphs }: Style, now: number): string {
  let tokens = 0;
  let cost = 0;
  for (const { usage } of state.delegations.values()) {
    tokens += usage.prompt + usage.completion;
    cost += usage.cost;
  }
  return [
    countOf(state.delegations.size, "agent"),
    `${formatTokens(tokens)} tokens`,
    formatCost(cost),
    isInterrupted ? "interrupted" : formatElapsed((state.finishedAt ?? now) - state.startedAt),
  ].join(` ${glyphs.dot} `);
}

function drawRows(rows: readonly TreeRow[], style: Style, frame: TreeFrame): string[] {
  const { paint, glyphs } = style;
  const numbers = numberColumns(rows);
  const stems = rows.map((row) => stemOf(row, style));
  const widest = Math.max(
    ...rows.map((row, index) => displayWidth((stems[index] ?? "") + row.profile)),
    0,
  );
  const nameWidth = Math.min(widest, 36);
  const idWidth = Math.max(...rows.map(({ id }) => id.length), 0);
  // One cell stays free at the end: some terminals break a line that is exactly full.
  const room =
    frame.columns - 1 - (2 + nameWidth + 1 + idWidth + 2) - (displayWidth(numbers[0] ?? "") + 2);
  const hasTitles = frame.columns >= wideEnoughForTitles;
  const longest = Math.max(...rows.map(({ activity }) => activity.length), 0);
  const activityWidth = Math.max(0, hasTitles ? Math.min(longest, 32) : room);
  const titleWidth = Math.max(0, room - activityWidth - 2);
  const column = (text: string, width: number) =>
    padEnd(shorten(text, width, glyphs.ellipsis), width);
  return rows.map((row, index) => {
    const stem = stems[index] ?? "";
    return [
      paint.dim(stem),
      `${drawMark(row.mark, style, frame.beat)} `,
      column(row.profile, nameWidth - displayWidth(stem)),
      ` ${paint.dim(row.id)}  `,
      hasTitles ? `${column(row.title, titleWidth)}  ` : "",
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

/** Numbers stand below each other, as wide as the widest of them. */
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
