import { modelName } from "../contracts/contract.ts";
import { tellPruned } from "../events/pruned-runs.ts";
import type { RunState } from "../events/run-state.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { Store } from "../ports/store.ts";

/**
 * A cache of immutable values, per store. It is emptied when it is full, so that a process that runs for
 * weeks does not keep every run in memory.
 */
export class StoreMemory<Value> {
  readonly #most: number;
  readonly #byStore = new WeakMap<Store, Map<string, Value>>();

  constructor(most: number) {
    this.#most = most;
  }

  get(store: Store, id: string): Value | undefined {
    return this.#byStore.get(store)?.get(id);
  }

  keep(store: Store, id: string, value: Value): void {
    const kept = this.#byStore.get(store) ?? new Map<string, Value>();
    if (kept.size >= this.#most) kept.clear();
    this.#byStore.set(store, kept.set(id, value));
  }
}

/** Finished runs, which need not be folded again. */
const finished = new StoreMemory<RunState>(8);
const mostKept = 2000;

/** The run of a run id or a delegation id. Callers share the object and must not change it. */
export async function readRunOf(store: Store, id: string): Promise<RunState> {
  const runId = await store.findRun(id);
  const run = runId === undefined ? undefined : await readFinished(store, runId);
  if (run !== undefined) return run;
  const isRun = id.startsWith("r");
  const what = isRun ? "run" : "delegation";
  throw new MandateError(
    isRun ? "unknown-run" : "unknown-delegation",
    (await tellPruned(store, id)) ?? `There is no ${what} ${id}.`,
  );
}

async function readFinished(store: Store, runId: string): Promise<RunState | undefined> {
  const known = finished.get(store, runId);
  if (known !== undefined) return known;
  const run = await store.readRun(runId);
  if (run && run.outcome !== null && run.delegations.size <= mostKept) {
    finished.keep(store, runId, run);
  }
  return run;
}

/** The caps of a contract. */
export interface GrantedCaps {
  readonly model: string;
  readonly tokens: number;
  /** In US dollars; null: no cap. */
  readonly cost: number | null;
  /** The total deadline in milliseconds. */
  readonly timeMs: number;
}

/** Contracts never change, and trees are read often. */
const knownCaps = new StoreMemory<GrantedCaps>(20_000);

/** The caps of a delegation; null: its contract cannot be read. */
export async function grantedCaps(store: Store, delegationId: string): Promise<GrantedCaps | null> {
  const kept = knownCaps.get(store, delegationId);
  if (kept !== undefined) return kept;
  const contract = await store.readContract(delegationId).catch(() => undefined);
  if (contract === undefined) return null;
  const { budget, deadlines } = contract;
  const caps = {
    model: modelName(contract),
    tokens: budget.tokens,
    cost: budget.cost,
    timeMs: deadlines.total,
  };
  knownCaps.keep(store, delegationId, caps);
  return caps;
}
