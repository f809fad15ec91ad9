import type { Delegation } from "../../events/delegation.ts";
import type { RunState } from "../../events/run-state.ts";
import type { Store } from "../../ports/store.ts";
import type { MemoryOrigin } from "./memory-scope.ts";

export type OriginSource = Pick<Store, "findRun" | "readRun">;

/** A delegation is resumed a few times at most; a longer chain is not real. */
const longestHistory = 100;

/**
 * Where a call comes from, by the log: whose child it is, in which run, and what it continues. Null
 * when the log does not know it, and then it has no memories.
 */
export async function memoryOrigin(
  source: OriginSource,
  runId: string,
  delegationId: string,
): Promise<MemoryOrigin | null> {
  const run = await source.readRun(runId);
  const delegation = run?.delegations.get(delegationId);
  if (run === undefined || delegation === undefined) return null;
  const formerly: string[] = [];
  let earliest = delegation;
  for (let id = delegation.resumedFrom; id !== null && formerly.length < longestHistory; ) {
    formerly.push(id);
    const earlier = await source.readRun((await source.findRun(id)) ?? "");
    const resumed = earlier?.delegations.get(id);
    if (resumed === undefined) break;
    earliest = resumed;
    id = resumed.resumedFrom;
  }
  return {
    runId,
    workspace: run.workspace,
    lineage: lineageOf(run, delegationId),
    profile: delegation.profile,
    isRoot: delegation.parentId === null && isRoot(earliest),
    formerly,
  };
}

/**
 * The first of its run, without a parent; watchers have no parent either, and come later. A child
 * that a person resumed is the root of a run, and still was a child.
 */
function isRoot({ parentId, resumedFrom, stepIdx }: Delegation): boolean {
  return parentId === null && stepIdx === 0 && resumedFrom === null;
}

function lineageOf(run: RunState, delegationId: string): readonly string[] {
  const lineage: string[] = [];
  let id: string | null = delegationId;
  while (id !== null && !lineage.includes(id)) {
    lineage.unshift(id);
    id = run.delegations.get(id)?.parentId ?? null;
  }
  return lineage;
}
