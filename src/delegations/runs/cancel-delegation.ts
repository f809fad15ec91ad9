import type { Cancellation, Cause } from "../../events/cause.ts";
import type { CancelOutcome } from "../../ports/delegator.ts";
import { cancelLive } from "../ends/cancel.ts";
import { cancelStored } from "../ends/cancel-stored.ts";
import type { EngineParts } from "../engine-parts.ts";
import type { LiveRuns } from "./live-runs.ts";

interface Cancelling {
  readonly parts: Pick<EngineParts, "store" | "toolbox">;
  readonly runs: LiveRuns;
}

/** Ends a delegation, or a whole run, with everybody below it, whoever works on it. */
export async function cancelDelegation(
  { parts: { store, toolbox }, runs }: Cancelling,
  id: string,
  reason: Cancellation,
): Promise<CancelOutcome> {
  const cause: Cause = typeof reason === "string" ? { code: "cancelled", text: reason } : reason;
  // Whom this process works on is stopped at once, however far away the database is.
  const agent = runs.find(id);
  if (agent) return cancelLive(agent, cause);
  const runId = await store.findRun(id);
  if (runId === undefined) return "not_found";
  return cancelStored(store, toolbox, runId, id, cause);
}
