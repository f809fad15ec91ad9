export interface DiffLine {
  readonly mark: " " | "-" | "+";
  readonly text: string;
}

/** Beyond this the lines are shown as all removed and all added. */
const mostCells = 250_000;

/**
 * The shortest way from some lines to others, for the few that an edit touches. What both end with
 * is kept as it is: a diff that ends with a change says that the file ends there.
 */
export function diffLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  let same = 0;
  const most = Math.min(before.length, after.length);
  while (same < most && before.at(-1 - same) === after.at(-1 - same)) same += 1;
  const end = before.slice(before.length - same);
  const changed = shortest(
    before.slice(0, before.length - same),
    after.slice(0, after.length - same),
  );
  return [...changed, ...marked(" ", end)];
}

function shortest(before: readonly string[], after: readonly string[]): DiffLine[] {
  const width = after.length + 1;
  if ((before.length + 1) * width > mostCells) {
    return [...marked("-", before), ...marked("+", after)];
  }
  // How many lines can be kept from here on, worked out from the end.
  const kept = new Uint32Array((before.length + 1) * width);
  for (let row = before.length - 1; row >= 0; row -= 1) {
    for (let column = after.length - 1; column >= 0; column -= 1) {
      const at = row * width + column;
      kept[at] =
        before[row] === after[column]
          ? (kept[at + width + 1] ?? 0) + 1
          : Math.max(kept[at + width] ?? 0, kept[at + 1] ?? 0);
    }
  }
  const lines: DiffLine[] = [];
  let row = 0;
  let column = 0;
  while (row < before.length || column < after.length) {
    const at = row * width + column;
    const text = before[row];
    if (text !== undefined && text === after[column]) {
      lines.push({ mark: " ", text });
      row += 1;
      column += 1;
    } else if (text !== undefined && (kept[at + width] ?? 0) >= (kept[at + 1] ?? 0)) {
      lines.push({ mark: "-", text });
      row += 1;
    } else if (column < after.length) {
      lines.push({ mark: "+", text: after[column] ?? "" });
      column += 1;
    } else if (text !== undefined) {
      lines.push({ mark: "-", text });
      row += 1;
    }
  }
  return lines;
}

function marked(mark: DiffLine["mark"], lines: readonly string[]): DiffLine[] {
  return lines.map((text) => ({ mark, text }));
}
