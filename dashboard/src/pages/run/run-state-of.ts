import type { CloseReason } from "../../../../src/events/close-reason.ts";
import type { RunState } from "../../../../src/events/run-state.ts";
import type { RunView } from "./replay/use-replay.ts";

export type RunPageState = "running" | "interrupted" | "succeeded" | "failed" | "cancelled";

/** Events do not tell whether a worker owns the run. */
export function runStateOf({ detail, state }: Pick<RunView, "detail" | "state">): RunPageState {
  if (state.outcome !== null) return state.outcome;
  return detail?.state === "interrupted" ? "interrupted" : "running";
}

/** Why its root failed; null while it has not. */
export function closeReasonIn({ delegations }: RunState): CloseReason | null {
  const root = [...delegations.values()].find(({ parentId }) => parentId === null);
  return root?.status === "closed" && root.finalStatus === "failed" ? root.closeReason : null;
}
