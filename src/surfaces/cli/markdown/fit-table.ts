import { padEnd } from "../display-width.ts";
import type { Style } from "../style.ts";
import { paintSpans, type Span, spanOf, widthOfSpans, wrapSpans } from "./spans.ts";

type Cell = readonly Span[];

export interface Table {
  /** The first row is the head. */
  readonly rows: readonly (readonly Cell[])[];
  readonly alignments: readonly ("left" | "center" | "right")[];
}

const leastColumn = 5;

/**
 * A table as lines of at most `columns` cells. Columns that are too wide are wrapped, the widest first;
 * with more columns than fit, each row becomes a list of its values below their heads.
 */
export function fitTable(table: Table, columns: number, style: Style): readonly string[] {
  const { rows } = table;
  const [head = []] = rows;
  const room = columns - 3 * (head.length - 1);
  if (room < head.length * leastColumn) return stack(table, columns, style);
  const natural = head.map((_, column) =>
    Math.max(1, ...largest(rows.map((row) => widthOfCell(row[column] ?? [])))),
  );
  const widths = share(natural, room);
  const isUnicode = style.glyphs.dot === "·";
  const bar = style.paint.dim(isUnicode ? " │ " : " | ");
  const rule = widths
    .map((width) => (isUnicode ? "─" : "-").repeat(width))
    .join(isUnicode ? "─┼─" : "-+-");
  const drawn = rows.map((row) => {
    const cells = widths.map((width, column) => wrapSpans(row[column] ?? [], width));
    const height = Math.max(1, ...cells.map(({ length }) => length));
    return Array.from({ length: height }, (_, line) =>
      widths
        .map((width, column) => align(cells[column]?.[line] ?? [], width, table, column, style))
        .join(bar)
        .trimEnd(),
    );
  });
  const [first = [], ...others] = drawn;
  // Rows of several lines need something between them.
  const isTall = others.some(({ length }) => length > 1);
  const body = isTall
    ? others.flatMap((lines, index) => (index === 0 ? lines : [style.paint.dim(rule), ...lines]))
    : others.flat();
  return [...first, style.paint.dim(rule), ...body];
}

/** `Math.max` takes a limited number of arguments. */
function largest(values: readonly number[]): readonly [number] {
  return [values.reduce((most, each) => Math.max(most, each), 0)];
}

function widthOfCell(cell: Cell): number {
  return Math.max(...wrapSpans(cell, Number.POSITIVE_INFINITY).map(widthOfSpans));
}

/** Cuts the widest columns to one width, so that all of them fit into the room. */
function share(natural: readonly number[], room: number): readonly number[] {
  let left = room;
  let columns = natural.length;
  const widths = [...natural];
  for (const [column, width] of [...natural.entries()].sort(([, a], [, b]) => a - b)) {
    const most = Math.floor(left / columns);
    widths[column] = Math.min(width, most);
    left -= Math.min(width, most);
    columns -= 1;
  }
  return widths;
}

function align(
  cell: Cell,
  width: number,
  { alignments }: Table,
  column: number,
  { paint }: Style,
): string {
  const painted = paintSpans(cell, paint);
  const free = Math.max(0, width - widthOfSpans(cell));
  const alignment = alignments[column];
  if (alignment === "right") return " ".repeat(free) + painted;
  if (alignment === "center") return padEnd(" ".repeat(Math.floor(free / 2)) + painted, width);
  return painted + " ".repeat(free);
}

function stack({ rows }: Table, columns: number, { paint }: Style): readonly string[] {
  const [head = [], ...others] = rows;
  return others.flatMap((row, index) => [
    ...(index === 0 ? [] : [""]),
    ...row.flatMap((cell, column) =>
      wrapSpans([...(head[column] ?? []), spanOf(": "), ...cell], columns).map((line) =>
        paintSpans(line, paint),
      ),
    ),
  ]);
}
