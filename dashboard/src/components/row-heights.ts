interface Expanded {
  readonly index: number;
  /** The height of what is shown below the row. */
  readonly height: number;
}

/** Where rows are that have one height, but for a few that have something below them. */
export class RowHeights {
  readonly #rowHeight: number;
  readonly #expanded: readonly Expanded[];

  /** The expanded rows come in ascending order. */
  constructor(rowHeight: number, expanded: readonly Expanded[]) {
    this.#rowHeight = rowHeight;
    this.#expanded = expanded;
  }

  /** The top of a row. The row that would come after the last one gives the height of all. */
  topOf(index: number): number {
    let top = index * this.#rowHeight;
    for (const { index: place, height } of this.#expanded) {
      if (place >= index) break;
      top += height;
    }
    return top;
  }

  /** The row, with what is below it, at a distance from the top. */
  indexAt(top: number): number {
    let extra = 0;
    for (const { index, height } of this.#expanded) {
      const below = (index + 1) * this.#rowHeight + extra;
      if (top < below) break;
      if (top < below + height) return index;
      extra += height;
    }
    return Math.max(Math.floor((top - extra) / this.#rowHeight), 0);
  }
}
