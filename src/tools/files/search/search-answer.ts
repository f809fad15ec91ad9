/** Below what the gate lets through, so that an answer ends with its own note. */
const longestBytes = 48 * 1024;

/** Gathers lines until there are enough of them, by number or by size. */
export class SearchAnswer {
  /** How many of the lines are results; others stand around those. */
  found = 0;
  /** Something was left out. */
  isCapped = false;
  readonly lines: string[] = [];
  readonly #limit: number;
  #size = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** How many more results there is room for. */
  get room(): number {
    return this.#limit - this.found;
  }

  /** Nothing is taken any more once something was left out, so that no gap goes unnoticed. */
  add(line: string, isResult: boolean): void {
    const size = Buffer.byteLength(line) + 1;
    this.isCapped ||= (isResult && this.room === 0) || this.#size + size > longestBytes;
    if (this.isCapped) return;
    this.lines.push(line);
    this.#size += size;
    if (isResult) this.found += 1;
  }
}
