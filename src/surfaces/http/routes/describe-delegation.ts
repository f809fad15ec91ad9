import type { z } from "zod";
import { isWatching } from "../../../application/commands/runs/describe-run.ts";
import type { Delegation } from "../../../events/delegation.ts";
import type { RunState } from "../../../events/run-state.ts";
import { spentOf } from "../../../events/spent.ts";
import type { Store } from "../../../ports/store.ts";
import { infoOf } from "../../../sessions/delegation-result.ts";
import { grantedCaps } from "../../../sessions/granted-caps.ts";
import { sessionStatus } from "../../../sessions/session.ts";
import type { delegationRow } from "../shapes/delegation-shapes.ts";
import type { resultStatus } from "../shapes/result-shapes.ts";

export type DelegationRow = z.infer<typeof delegationRow>;

export interface RowSurroundings {
  readonly isInterrupted: boolean;
  readonly now: number;
  /** The models that answered those that are still open. */
  readonly served?: ReadonlyMap<string, readonly string[]> | undefined;
}

/** One delegation in a list or a tree. Its caps come from its contract, which is read once. */
export async function describeDelegation(
  store: Store,
  run: RunState,
  delegation: Delegation,
  { isInterrupted, now, served }: RowSurroundings,
): Promise<DelegationRow> {
  const caps = await grantedCaps(store, delegation.id);
  const isClosed = delegation.status === "closed";
  const { attempt, client, depth, parentId, profile, title, waitingOn } = infoOf(run, delegation);
  const isGone = isInterrupted && !isClosed;
  return {
    delegationId: delegation.id,
    runId: run.id,
    parentId,
    profile,
    ...(client !== undefined && { client }),
    title,
    status: delegation.status,
    outcome: isClosed ? (sessionStatus(delegation) as z.infer<typeof resultStatus>) : null,
    closeReason: isClosed ? delegation.closeReason : null,
    waitingOn: isGone ? null : (waitingOn ?? null),
    isWatching: isWatching(delegation),
    isInterrupted: isGone,
    depth,
    attempt,
    model: {
      requested: caps?.model ?? null,
      served: isClosed ? delegation.seal.served : (served?.get(delegation.id) ?? []),
    },
    ...spentOf(delegation),
    cap: caps && { tokens: caps.tokens, cost: caps.cost, timeMs: caps.timeMs },
    turns: delegation.turns,
    toolCalls: delegation.toolCalls,
    createdAt: delegation.createdAt,
    startedAt: delegation.startedAt,
    closedAt: isClosed ? delegation.closedAt : null,
    elapsedMs: (isClosed ? delegation.closedAt : now) - delegation.createdAt,
  };
}
