import { isPaused } from "../../events/run-state.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Store } from "../../ports/store.ts";
import type { EngineParts } from "../engine-parts.ts";
import { type Interrupted, interruptRoot } from "../rests/interrupt.ts";
import { nobodyAtWork } from "./agent-at-work.ts";
import type { LiveRuns } from "./live-runs.ts";

interface Interrupting {
  readonly parts: Pick<EngineParts, "store">;
  readonly runs: LiveRuns;
}

export async function interruptRun(
  { parts: { store }, runs }: Interrupting,
  id: string,
  reason: string,
): Promise<Interrupted> {
  const runId = (await store.findRun(id)) ?? id;
  const { root } = runs.get(runId) ?? {};
  if (root == null) return afterwards(store, runId, id);
  if (id === runId || id === root.id)
    return interruptRoot(root, { code: "cancelled", text: reason });
  const told = `${id} works for another agent, which alone can be interrupted with all that it does: run ${runId}. To end ${id}, cancel it.`;
  throw new MandateError("usage", told);
}

/** What became of one that this process does not work on, or does no more. */
async function afterwards(store: Store, runId: string, id: string): Promise<Interrupted> {
  const settled = Promise.resolve();
  const state = await store.readRun(runId);
  if (state && isPaused(state)) return { outcome: "paused", settled };
  if (state && state.outcome !== null) return { outcome: "already_terminal", settled };
  if (!state?.spread) throw nobodyAtWork(id);
  const told = `Run ${runId} is spread over workers, where nobody can have it rest. To end it: mandate cancel ${runId}`;
  throw new MandateError("usage", told);
}
