import type { Store } from "../../ports/store.ts";
import type { Delegation } from "../delegation.ts";
import type { PrunedRuns } from "../pruned-runs.ts";
import type { CheckedRun, RunCheck } from "./checked-run.ts";

interface Claim {
  readonly seq: number;
  readonly planner: string;
  readonly key: string;
  readonly doneBy: string;
}

/**
 * I14: a continued plan may count a step as done only if a child of whom its planner goes on from
 * had completed it. That one is in another run, so it is looked up at the end; where that was pruned,
 * that can no longer be decided.
 */
export class EarlierStepsCheck implements RunCheck {
  readonly #run: CheckedRun;
  readonly #pruned: PrunedRuns;
  readonly #claims: Claim[] = [];

  constructor(run: CheckedRun, pruned: PrunedRuns) {
    this.#run = run;
    this.#pruned = pruned;
  }

  readonly see: RunCheck["see"] = ({ payload, seq, type }) => {
    if (type !== "run.planned") return;
    for (const { done_by: doneBy, key } of payload.steps) {
      if (doneBy !== undefined) this.#claims.push({ seq, planner: payload.by, key, doneBy });
    }
  };

  async lookUp(store: Store): Promise<void> {
    for (const { doneBy, key, planner, seq } of this.#claims) {
      if (this.#pruned.receiptOf(doneBy) !== undefined) continue;
      const child = await readDelegation(store, doneBy);
      const isDone = child?.status === "closed" && child.finalStatus === "completed";
      const why = !isDone
        ? "it had not"
        : (await worksFor(store, this.#pruned, planner, child.parentId))
          ? undefined
          : "it had nothing to do with it";
      if (why === undefined) continue;
      const message = `The plan of ${planner} says that ${doneBy} had completed the step "${key}", and ${why}.`;
      this.#run.report("I14", message, { seq });
    }
  }
}

/** Whether a delegation continues another one, over however many interruptions. */
async function worksFor(
  store: Store,
  pruned: PrunedRuns,
  planner: string,
  before: string | null,
): Promise<boolean> {
  const seen = new Set<string>();
  let id: string | null = planner;
  while (id !== null && !seen.has(id)) {
    seen.add(id);
    id = (await readDelegation(store, id))?.resumedFrom ?? null;
    if (id !== null && (id === before || pruned.receiptOf(id) !== undefined)) return true;
  }
  return false;
}

async function readDelegation(store: Store, id: string): Promise<Delegation | undefined> {
  try {
    const runId = await store.findRun(id);
    const run = runId === undefined ? undefined : await store.readRun(runId);
    return run?.delegations.get(id);
  } catch {
    // A run that cannot be read proves nothing; its own check reports what is wrong with it.
    return undefined;
  }
}
