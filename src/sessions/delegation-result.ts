import type { CloseReason, RunOutcome } from "../events/close-reason.ts";
import { type Delegation, isOpen, type WaitingOn } from "../events/delegation.ts";
import { childrenAfterAnswer, childrenOf, type RunState } from "../events/run-state.ts";
import { spentOf } from "../events/spent.ts";
import type { DelegationInfo, DelegationResult } from "../ports/delegator.ts";
import { headOf, tailOf } from "../text.ts";

/** The result of a closed delegation, from the log; null while it is open. */
export function resultOf(run: RunState, id: string): DelegationResult | null {
  const delegation = run.delegations.get(id);
  if (delegation?.status !== "closed") return null;
  const children = childrenOf(run, id).flatMap((child) => resultOf(run, child.id) ?? []);
  const outcome = isRoot(delegation) ? run.outcome : null;
  return closedResult(delegation, children, outcome);
}

/** `outcome`: the outcome of the run, for its root. */
export function closedResult(
  delegation: Delegation,
  children: readonly DelegationResult[],
  outcome: RunOutcome | null = null,
): DelegationResult | null {
  if (delegation.status !== "closed") return null;
  return {
    delegationId: delegation.id,
    profile: delegation.profile,
    ...clientOf(delegation),
    status: statusOf(delegation.finalStatus, delegation.closeReason),
    ...(outcome !== null && { outcome }),
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

function clientOf({ client }: Delegation): Pick<Delegation, "client"> | undefined {
  return client === undefined ? undefined : { client };
}

function isRoot({ depth, parentId }: Delegation): boolean {
  return parentId === null && depth === 0;
}

/** The status for callers, from the lifecycle. */
export function statusOf(
  final: "completed" | "failed",
  reason: CloseReason,
): DelegationResult["status"] {
  if (final === "completed") return "completed";
  return reason === "timeout" || reason === "cancelled" ? reason : "failed";
}

/** `isInterrupted`: no process works on its run, so an open delegation waits for nothing. */
export function infoOf(
  run: RunState,
  delegation: Delegation,
  isInterrupted = false,
): DelegationInfo {
  return {
    delegationId: delegation.id,
    parentId: delegation.parentId,
    profile: delegation.profile,
    ...clientOf(delegation),
    title: delegation.title,
    status: delegation.status,
    ...endOf(delegation),
    ...(isInterrupted && isOpen(delegation) ? { isInterrupted } : waitingOf(run, delegation)),
    depth: delegation.depth,
    attempt: delegation.attempt,
    ...(delegation.mail && { unreadMessages: delegation.mail.length }),
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

function waitingOf(
  run: RunState,
  delegation: Delegation,
): Pick<DelegationInfo, "waitingOn"> | undefined {
  switch (delegation.status) {
    case "created":
      return { waitingOn: { on: "slot" } };
    case "running":
      return { waitingOn: delegation.waitingOn };
    case "waiting_for_merge":
      return { waitingOn: afterOutput(run, delegation) };
    default:
      return undefined;
  }
}

function afterOutput(
  run: RunState,
  delegation: Extract<Delegation, { status: "waiting_for_merge" }>,
): WaitingOn {
  if (delegation.ask !== null) return { on: "approval", detail: delegation.ask.id };
  if (delegation.isPaused) return { on: "paused" };
  const children = childrenAfterAnswer(run, delegation);
  if (children.length === 0) return { on: "lock", detail: "its turn to be merged" };
  return { on: "child", detail: children.map(({ id }) => id).join(", ") };
}

/** The final answer of a delegation that waits for its background children. */
export interface EarlyAnswer {
  readonly text: string;
  readonly truncated: boolean;
  /** The background children that still run. */
  readonly running: readonly string[];
}

/** Null: there is no answer yet, or no background child runs. */
export function earlyAnswerOf(run: RunState, id: string): EarlyAnswer | null {
  const delegation = run.delegations.get(id);
  if (delegation?.status !== "waiting_for_merge") return null;
  const running = childrenAfterAnswer(run, delegation).map((child) => child.id);
  if (running.length === 0) return null;
  const { text, truncated } = delegation.output;
  return { text, truncated, running };
}

/** The early answer of the root. */
export function earlyAnswerIn(run: RunState): EarlyAnswer | null {
  const root = [...run.delegations.values()].find(isRoot);
  return root === undefined ? null : earlyAnswerOf(run, root.id);
}

/** A bounded part of a long text. */
export interface TextPiece {
  readonly characters: number;
  readonly lines: number;
  readonly text: string;
  /** The requested part is not complete. */
  readonly isCut: boolean;
}

export type PieceRequest =
  | { readonly view: "peek" }
  /** A range of lines, counted from 1. */
  | { readonly view: "slice"; readonly from: number; readonly lines: number }
  /** Lines that contain a text, each with its number, ignoring case. */
  | { readonly view: "search"; readonly query: string; readonly lines: number };

const longestPiece = 64 * 1024;

export function textPiece(text: string, request: PieceRequest): TextPiece {
  const all = text.split("\n");
  const about = { characters: text.length, lines: all.length };
  if (request.view === "peek") {
    const half = longestPiece / 2;
    if (text.length <= longestPiece) return { ...about, text, isCut: false };
    const ends = `${headOf(text, half)}\n[…]\n${tailOf(text, half)}`;
    return { ...about, text: ends, isCut: true };
  }
  const chosen =
    request.view === "slice"
      ? all.slice(request.from - 1)
      : all
          .map((line, index) => `${index + 1}: ${line}`)
          .filter((_, index) => all[index]?.toLowerCase().includes(request.query.toLowerCase()));
  const shown = chosen.slice(0, request.lines).join("\n");
  const isCut = chosen.length > request.lines || shown.length > longestPiece;
  return { ...about, text: headOf(shown, longestPiece), isCut };
}
