import { tellPruned } from "../../events/pruned-runs.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Store } from "../../ports/store.ts";
import type { Io } from "./io.ts";

/** What an id on the command line means. */
export interface Target {
  readonly runId: string;
  /** Null: the run as a whole. */
  readonly delegationId: string | null;
}

/** The run, delegation or question of that id; without one, the latest run. */
export async function findTarget(store: Store, id: string | undefined, io: Io): Promise<Target> {
  if (id === undefined) {
    const [latest] = await store.listRuns({ limit: 1 });
    if (latest) return { runId: latest.id, delegationId: null };
    throw new MandateError(
      "unknown-run",
      `There are no runs yet. Start one: ${io.program} run "…"`,
    );
  }
  const runId = await store.findRun(id);
  if (runId === undefined) {
    const shown = JSON.stringify(id.slice(0, 40));
    throw new MandateError(
      "unknown-run",
      (await tellPruned(store, id)) ??
        `There is no run or delegation ${shown} here. ${io.program} ls lists the runs.`,
    );
  }
  const run = id === runId ? undefined : await store.readRun(runId);
  return { runId, delegationId: run?.delegations.has(id) ? id : null };
}
