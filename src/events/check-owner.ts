import { MandateError } from "../ports/mandate-error.ts";
import type { Append } from "../ports/store.ts";
import type { RunState } from "./run-state.ts";

/**
 * Throws unless whoever appends may: the run has not moved past what they decided by, and they
 * still own what they write about. The same in every store.
 */
export function checkOwner(run: RunState, { by, events, ifRunSeq }: Append): void {
  if (ifRunSeq !== undefined && ifRunSeq !== run.lastRunSeq) {
    throw new MandateError("conflict", `Run ${run.id} has moved on in the meantime.`);
  }
  if (by === "operator" || events[0]?.type === "run.started") return;
  if (by.worker === run.worker && by.fence === run.fence) return;
  // Taking a run over is itself an append, by its new owner, one fence higher.
  if (events[0]?.type === "run.resumed" && by.fence === run.fence + 1) return;
  throw new MandateError("fenced", `Run ${run.id} is now worked on by another process.`);
}
