import type { Memory, MemoryScope } from "../../ports/memory-store.ts";

/** Who calls, as the log has it: nothing of this is taken from the call itself. */
export interface MemoryOrigin {
  readonly runId: string;
  /** The folder that the run is about; copies of it stand for it. */
  readonly workspace: string | null;
  /** From the root to the caller. */
  readonly lineage: readonly string[];
  readonly profile: string;
  /** A person or program started it: it is no sub-agent. */
  readonly isRoot: boolean;
  /** Delegations of other runs that it continues. */
  readonly formerly: readonly string[];
}

/**
 * As what an agent saves. What a sub-agent saves stays with it and its kin, unless the operator
 * says otherwise; what the root itself saves is for all.
 */
export function scopeOfSave(configured: MemoryScope, { isRoot }: MemoryOrigin): MemoryScope {
  return configured === "shared" || isRoot ? "shared" : "delegated";
}

/**
 * Whether an agent may be shown a memory. Shared ones are for all in the same workspace, or
 * everywhere when they were saved without one. Delegated ones are for who saved them, those above
 * it and those below it in the same run: a sibling is neither.
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
