export interface DiffLine {
  readonly side: "both" | "theirs" | "mine";
  readonly text: string;
}

/** Beyond this a line-by-line diff is of no use, and takes long to compute. */
const mostCells = 4_000_000;

/** Two texts as one list of lines: what both have, and what only one of them has. */
export function diffLines(theirs: string, mine: string): readonly DiffLine[] {
  const [left, right] = [theirs.split("\n"), mine.split("\n")];
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start += 1;
  let end = 0;
  const shorter = Math.min(left.length, right.length) - start;
  while (end < shorter && left[left.length - 1 - end] === right[right.length - 1 - end]) end += 1;
  const both = (lines: readonly string[]): DiffLine[] =>
    lines.map((text) => ({ side: "both", text }));
  return [
    ...both(left.slice(0, start)),
    ...diffMiddle(left.slice(start, left.length - end), right.slice(start, right.length - end)),
    ...both(left.slice(left.length - end)),
  ];
}

/** By the longest list of lines that both have. */
function diffMiddle(left: readonly string[], right: readonly string[]): readonly DiffLine[] {
  const only = (side: "theirs" | "mine", lines: readonly string[]): DiffLine[] =>
    lines.map((text) => ({ side, text }));
  if (left.length === 0 || right.length === 0 || left.length * right.length > mostCells) {
    return [...only("theirs", left), ...only("mine", right)];
  }
  const width = right.length + 1;
  const longest = new Uint32Array((left.length + 1) * width);
  const at = (row: number, column: number): number => longest[row * width + column] ?? 0;
  for (let row = left.length - 1; row >= 0; row -= 1) {
    for (let column = right.length - 1; column >= 0; column -= 1) {
      longest[row * width + column] =
        left[row] === right[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const lines: DiffLine[] = [];
  let [row, column] = [0, 0];
  while (row < left.length && column < right.length) {
    const [one = "", other = ""] = [left[row], right[column]];
    if (one === other) {
      lines.push({ side: "both", text: one });
      row += 1;
      column += 1;
    } else if (at(row + 1, column) >= at(row, column + 1)) {
      lines.push({ side: "theirs", text: one });
      row += 1;
    } else {
      lines.push({ side: "mine", text: other });
      column += 1;
    }
  }
  return [...lines, ...only("theirs", left.slice(row)), ...only("mine", right.slice(column))];
}
