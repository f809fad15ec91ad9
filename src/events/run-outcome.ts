import type { EventPayloads } from "./event.ts";

/** How a whole run ended. */
export type RunOutcome = "succeeded" | "failed" | "cancelled";

/**
 * The outcome that `run.finished` records. Earlier versions recorded a cancelled run as failed; the
 * reason of such an event begins with its root's close reason.
 */
export function runOutcomeOf({
  outcome,
  reason,
}: Pick<EventPayloads["run.finished"], "outcome" | "reason">): RunOutcome {
  return outcome === "failed" && reason.startsWith("cancelled: ") ? "cancelled" : outcome;
}
