import { displayWidth, padEnd, padStart, shorten } from "./display-width.ts";
import type { Io } from "./io.ts";
import { styleFor } from "./style.ts";

interface Column {
  readonly title: string;
  readonly isNumber?: true;
}

export function titled(...titles: readonly string[]): readonly Column[] {
  return titles.map((title) => ({ title }));
}

type Paint = (text: string) => string;

/**
 * Rows below a heading, in columns as wide as their widest cell; the last column gets the rest of the
 * line, at least `leastRoom`. `toneOf` colours the second column of a row.
 */
export function drawTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  io: Io,
  { leastRoom = 10, toneOf }: { leastRoom?: number; toneOf?: (row: number) => Paint } = {},
): string[] {
  const { glyphs, paint } = styleFor(io.stdout, io);
  const widths = columns.map(({ title }, column) =>
    Math.max(title.length, ...rows.map((row) => displayWidth(row[column] ?? ""))),
  );
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + 2, 0);
  const { columns: width, isTerminal } = io.stdout;
  const room = isTerminal ? Math.max(leastRoom, width - 1 - before) : Number.POSITIVE_INFINITY;
  const draw = (row: readonly string[], tone?: Paint): string =>
    row
      .map((cell, column) => {
        if (column === columns.length - 1) return shorten(cell, room, glyphs.ellipsis);
        const pad = columns[column]?.isNumber ? padStart : padEnd;
        const padded = pad(cell, widths[column] ?? 0);
        return column === 1 && tone !== undefined ? tone(padded) : padded;
      })
      .join("  ");
  const head = draw(columns.map(({ title }) => title));
  return [paint.dim(head), ...rows.map((row, index) => draw(row, toneOf?.(index)))];
}
