import type { Delegation } from "../../events/delegation.ts";
import type { RunState } from "../../events/run-state.ts";
import type { Memory, MemoryScope } from "../../ports/memory-store.ts";
import type { Store } from "../../ports/store.ts";

/** The calling delegation, read from the log: the call itself is not trusted. */
export interface MemoryOrigin {
  readonly runId: string;
  /** The folder that the run is about. A working copy counts as the folder it was made from. */
  readonly workspace: string | null;
  /** The delegations from the root to the caller. */
  readonly lineage: readonly string[];
  readonly profile: string;
  /** A person or program started it: it is no sub-agent. */
  readonly isRoot: boolean;
  /** Delegations of other runs that it continues. */
  readonly formerly: readonly string[];
}

/**
 * The scope of a new memory. Memories of the root are shared; those of sub-agents are delegated
 * unless the operator configured otherwise.
 */
export function scopeOfSave(configured: MemoryScope, { isRoot }: MemoryOrigin): MemoryScope {
  return configured === "shared" || isRoot ? "shared" : "delegated";
}

/**
 * Whether an agent may see a memory. Shared memories: all agents in the same workspace, or all agents
 * if saved without a workspace. Delegated memories: the agent that saved them, its ancestors and its
 * descendants in the same run, but no sibling.
 */
export function maySeeMemory(memory: Memory, reader: MemoryOrigin): boolean {
  if (memory.forgotten !== null) return false;
  if (memory.workspace !== null && memory.workspace !== reader.workspace) return false;
  if (memory.scope === "shared" || memory.promoted !== null) return true;
  if (reader.formerly.includes(memory.delegationId)) return true;
  if (memory.runId !== reader.runId) return false;
  const self = reader.lineage.at(-1);
  const isAbove = self !== undefined && memory.lineage.includes(self);
  return isAbove || reader.lineage.includes(memory.delegationId);
}

export type OriginSource = Pick<Store, "findRun" | "readRun">;

/** Resumed delegations that are followed back at most. */
const longestHistory = 100;

/** The origin of a call, read from the log. Null: the log does not know the delegation. */
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
 * The first delegation of a run, without a parent. Watchers have no parent either, but come later. A
 * child that a person resumed is the root of a new run, and still counts as a child.
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
