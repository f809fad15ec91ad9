import type { CloseReason } from "../events/close-reason.ts";
import { type Delegation, isOpen } from "../events/delegation.ts";
import { childrenOf, type RunState } from "../events/run-state.ts";
import { spentOf } from "../events/spent.ts";
import type { DelegationInfo, DelegationResult } from "../ports/delegator.ts";

/** The result of a closed delegation as the log tells it; null while it is open. */
export function resultOf(run: RunState, id: string): DelegationResult | null {
  const delegation = run.delegations.get(id);
  if (delegation?.status !== "closed") return null;
  const children = childrenOf(run, id).flatMap((child) => resultOf(run, child.id) ?? []);
  return {
    delegationId: delegation.id,
    profile: delegation.profile,
    status: statusOf(delegation.finalStatus, delegation.closeReason),
    ...(isRoot(delegation) && run.outcome !== null && { outcome: run.outcome }),
    result:
      delegation.finalStatus === "completed"
        ? (delegation.output?.text ?? "")
        : (delegation.failure?.error ?? ""),
    tokenUsage: delegation.usage,
    duration: delegation.closedAt - delegation.createdAt,
    ...(children.length > 0 && { subDelegations: children }),
    ...(delegation.output?.truncated && { truncated: true }),
    closeReason: delegation.closeReason,
    evidence: delegation.seal,
    ...(delegation.output?.artifact && { artifacts: [delegation.output.artifact] }),
  };
}

function isRoot({ depth, parentId }: Delegation): boolean {
  return parentId === null && depth === 0;
}

/** The four words that callers know, from the one lifecycle. */
export function statusOf(
  final: "completed" | "failed",
  reason: CloseReason,
): DelegationResult["status"] {
  if (final === "completed") return "completed";
  return reason === "timeout" || reason === "cancelled" ? reason : "failed";
}

/** `isInterrupted`: no process works on its run, so an open delegation waits for nothing. */
export function infoOf(delegation: Delegation, isInterrupted = false): DelegationInfo {
  return {
    delegationId: delegation.id,
    parentId: delegation.parentId,
    profile: delegation.profile,
    title: delegation.title,
    status: delegation.status,
    ...endOf(delegation),
    ...(isInterrupted && isOpen(delegation) ? { isInterrupted } : waitingOf(delegation)),
    depth: delegation.depth,
    attempt: delegation.attempt,
    ...spentOf(delegation),
  };
}

function endOf(
  delegation: Delegation,
): Pick<DelegationInfo, "closeReason" | "finalStatus" | "outcome"> | undefined {
  if (delegation.status !== "closed") return undefined;
  const { closeReason, finalStatus } = delegation;
  return { finalStatus, outcome: statusOf(finalStatus, closeReason), closeReason };
}

function waitingOf(delegation: Delegation): Pick<DelegationInfo, "waitingOn"> | undefined {
  switch (delegation.status) {
    case "created":
      return { waitingOn: { on: "slot" } };
    case "running":
      return { waitingOn: delegation.waitingOn };
    case "waiting_for_merge":
      return delegation.ask === null
        ? { waitingOn: { on: "lock", detail: "its turn to be merged" } }
        : { waitingOn: { on: "approval", detail: delegation.ask.id } };
    default:
      return undefined;
  }
}
