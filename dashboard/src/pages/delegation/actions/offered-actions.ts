import type { DelegationDetail, DelegationDiff } from "../delegation-detail.ts";

export interface OfferedActions {
  readonly canCancel: boolean;
  readonly canResume: boolean;
  /** Merge what it left in its copy, or throw that away. */
  readonly canDecide: boolean;
}

type Known = Pick<DelegationDetail, "status" | "outcome" | "isInterrupted">;

/** What can be done about a delegation now. The server decides; this is what is worth offering. */
export function offeredActions(
  { isInterrupted, outcome, status }: Known,
  diff: Pick<DelegationDiff, "source" | "files"> | null | undefined,
  isOperator: boolean,
): OfferedActions {
  const isClosed = status === "closed";
  const isKept = diff?.source === "copy" && diff.files.length > 0;
  return {
    canCancel: isOperator && !isClosed,
    canResume: isOperator && (isClosed ? outcome !== "completed" : isInterrupted),
    // While it works, its copy is its own.
    canDecide: isOperator && isClosed && isKept,
  };
}
