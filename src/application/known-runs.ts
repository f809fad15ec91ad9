import { type AskWorkers, askWorkersOnce, isRunInterrupted } from "../events/is-worked-on.ts";
import { tellPruned } from "../events/pruned-runs.ts";
import type { RunState } from "../events/run-state.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { Store } from "../ports/store.ts";
import type { Cap, KnownRun } from "./steering.ts";

const mostRuns = 200;

/** Runs for commands. A damaged run is listed as unreadable. */
export class KnownRuns {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** The open runs, the newest first. */
  async open(): Promise<readonly KnownRun[]> {
    const rows = await this.#store.listRuns({ open: true, limit: mostRuns });
    const workers = askWorkersOnce(this.#store);
    return Promise.all(rows.map((row) => this.#known(row.id, row.task, workers)));
  }

  async latest(): Promise<KnownRun> {
    const [row] = await this.#store.listRuns({ limit: 1 });
    if (row !== undefined) return this.#known(row.id, row.task);
    throw new MandateError("unknown-run", "There are no runs yet.");
  }

  /** The run with this id, or the run of a delegation or a question. */
  async find(id: string): Promise<KnownRun> {
    const runId = await this.#store.findRun(id);
    const run = runId === undefined ? undefined : await this.#known(runId, "");
    // The control log can be read like a run, but is none.
    if (run !== undefined && run.state?.delegations.size !== 0) return run;
    const pruned = await tellPruned(this.#store, id);
    throw new MandateError("unknown-run", pruned ?? `There is no run or delegation ${id}.`);
  }

  async capsOf(delegationIds: readonly string[]): Promise<ReadonlyMap<string, Cap>> {
    const caps = new Map<string, Cap>();
    for (const id of delegationIds) {
      // An invalid contract has no caps.
      const contract = await this.#store.readContract(id).catch(() => undefined);
      if (contract) caps.set(id, { tokens: contract.budget.tokens, cost: contract.budget.cost });
    }
    return caps;
  }

  async #known(id: string, task: string, workers?: AskWorkers): Promise<KnownRun> {
    const state = await this.#read(id);
    const isInterrupted = state !== null && (await isRunInterrupted(this.#store, state, workers));
    return { id, task: state?.task ?? task, state, isInterrupted };
  }

  /** A damaged log must not hide other runs. */
  async #read(id: string): Promise<RunState | null> {
    try {
      return (await this.#store.readRun(id)) ?? null;
    } catch (error) {
      if (error instanceof MandateError && error.code === "closed") throw error;
      return null;
    }
  }
}
