import type { RunRow, Store } from "../ports/store.ts";

const firstPortion = 64;
const growth = 8;

/** Rows of runs, asked for in growing portions: most lists need the first one alone. */
export class RunRows {
  readonly #store: Store;
  readonly #byId = new Map<string, RunRow>();
  #size = firstPortion;
  #isComplete = false;

  constructor(store: Store) {
    this.#store = store;
  }

  /** A run that starts during the read may come late. */
  async *newestFirst(): AsyncGenerator<RunRow> {
    for (let given = 0; ; ) {
      if (given === this.#byId.size && !(await this.#grow())) return;
      for (const row of [...this.#byId.values()].slice(given)) {
        given++;
        yield row;
      }
    }
  }

  async of(runId: string): Promise<RunRow | undefined> {
    while (!this.#byId.has(runId)) if (!(await this.#grow())) return undefined;
    return this.#byId.get(runId);
  }

  async #grow(): Promise<boolean> {
    if (this.#isComplete) return false;
    const before = this.#byId.size;
    const rows = await this.#store.listRuns({ limit: this.#size });
    for (const row of rows) if (!this.#byId.has(row.id)) this.#byId.set(row.id, row);
    this.#isComplete = rows.length < this.#size;
    this.#size *= growth;
    return this.#byId.size > before;
  }
}
