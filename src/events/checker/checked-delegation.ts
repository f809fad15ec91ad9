import type { Delegation } from "../delegation.ts";
import type { RunState } from "../run-state.ts";
import type { CheckedRun, Known } from "./checked-run.ts";

/** What the log says of a delegation, for those who look at what it left in the world. */
export interface CheckedDelegation {
  readonly id: string;
  readonly runId: string;
  /** `unclear`: the log is damaged, and no conclusion may be drawn. */
  readonly status: "open" | "completed" | "failed" | "unclear";
  readonly createdAt: number;
  readonly closedAt: number | null;
  /** The working copy that its contract names. */
  readonly copyId: string | null;
  /** Workers on other machines have it as well, and any of them may be the one that has it now. */
  readonly travels?: boolean;
}

/** All delegations of a run, in the order of their creation. */
export function* tellDelegations(
  { delegations, id: runId }: CheckedRun,
  fold: RunState,
): Generator<CheckedDelegation> {
  for (const known of delegations.values())
    yield tell(known, runId, fold.delegations.get(known.id));
}

/** The same of a run whose log cannot be read to its end. */
export function* tellRows({ id: runId, rows }: CheckedRun): Generator<CheckedDelegation> {
  for (const { id } of rows.delegations) yield { id, runId, ...unclear };
}

const unclear = { status: "unclear", createdAt: 0, closedAt: null, copyId: null } as const;

function tell(
  { contract, created, id, isBroken }: Known,
  runId: string,
  delegation: Delegation | undefined,
): CheckedDelegation {
  if (isBroken || !contract || delegation === undefined) return { id, runId, ...unclear };
  const { createdAt } = delegation;
  const copyId = contract.workspace.copy?.id ?? null;
  const isClosed = delegation.status === "closed";
  const status = isClosed ? delegation.finalStatus : "open";
  const closedAt = isClosed ? delegation.closedAt : null;
  const travels = created.bundle !== undefined;
  return { id, runId, status, createdAt, closedAt, copyId, travels };
}
