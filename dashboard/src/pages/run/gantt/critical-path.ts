import type { Bar, GanttRow } from "./gantt-fold.ts";

export interface CriticalSpan {
  readonly from: number;
  readonly to: number;
}

/**
 * What the end of the run waited for, followed backwards: through an agent's own work as long as it
 * worked, and where it waited for children, through the one that came back last. Shortening anything
 * else would not have made the run shorter.
 */
export function criticalPath(
  rows: readonly GanttRow[],
  until: number,
): ReadonlyMap<string, readonly CriticalSpan[]> {
  const walker = new Walker(rows, until);
  const [root] = rows;
  if (root !== undefined) walker.walk(root);
  return walker.path;
}

class Walker {
  readonly path = new Map<string, CriticalSpan[]>();
  readonly #until: number;
  /** The children of each caller, in the order in which they closed. */
  readonly #children: ReadonlyMap<string | null, readonly GanttRow[]>;
  readonly #byCall: ReadonlyMap<string | null, GanttRow>;

  constructor(rows: readonly GanttRow[], until: number) {
    this.#until = until;
    const sorted = rows.toSorted((one, other) => this.#endOf(one) - this.#endOf(other));
    this.#children = Map.groupBy(sorted, ({ parentId }) => parentId);
    this.#byCall = new Map(rows.map((row) => [row.callId, row]));
  }

  walk(row: GanttRow): void {
    let time = this.#endOf(row);
    for (const bar of row.bars.toReversed()) {
      while (bar.from < time) {
        if (bar.kind === "child") time = this.#walkWait(row, bar, time);
        else {
          this.#mark(row.id, bar.from, time);
          time = bar.from;
        }
      }
    }
  }

  /** Gives where the path returns to the waiting parent: when it called for the child. */
  #walkWait(row: GanttRow, bar: Bar, end: number): number {
    let child = this.#lastBefore(this.#children.get(row.id) ?? [], end);
    if (child === undefined || this.#endOf(child) <= bar.from) {
      this.#mark(row.id, bar.from, end);
      return bar.from;
    }
    this.#mark(row.id, this.#endOf(child), end);
    for (;;) {
      this.walk(child);
      const step = this.#stepBefore(child, bar.from);
      if (step === undefined) break;
      this.#mark(row.id, this.#endOf(step), child.from);
      child = step;
    }
    const start = Math.min(child.calledAt ?? child.from, child.from);
    this.#mark(row.id, start, child.from);
    if (start < end) return start;
    // A child that took no time must not keep the walk where it is.
    this.#mark(row.id, bar.from, end);
    return bar.from;
  }

  /** The step that closed last among the steps that this child depends on. */
  #stepBefore(child: GanttRow, after: number): GanttRow | undefined {
    // Strictly earlier: what a log says of dependencies may go in a circle.
    const latest = Math.min(child.from, this.#endOf(child) - 1);
    return child.dependsOn
      .flatMap((call) => this.#byCall.get(call) ?? [])
      .filter((step) => this.#endOf(step) > after && this.#endOf(step) <= latest)
      .sort((one, other) => this.#endOf(one) - this.#endOf(other))
      .at(-1);
  }

  #lastBefore(sorted: readonly GanttRow[], time: number): GanttRow | undefined {
    let low = 0;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const row = sorted[middle];
      if (row !== undefined && this.#endOf(row) <= time) low = middle + 1;
      else high = middle;
    }
    return sorted[low - 1];
  }

  #endOf({ to }: GanttRow): number {
    return Math.min(to ?? this.#until, this.#until);
  }

  #mark(id: string, from: number, to: number): void {
    if (to <= from) return;
    const spans = this.path.get(id) ?? [];
    const [first] = spans;
    if (first?.from === to) spans[0] = { from, to: first.to };
    else spans.unshift({ from, to });
    this.path.set(id, spans);
  }
}
