import type { StoredMemory } from "../ports/inspection.ts";
import type { Memory } from "../ports/memory-store.ts";
import { sha256 } from "./hash-chain.ts";

/** Everything of a memory that never changes; what people decide about it later is in records. */
export function storedMemoryHash(memory: Omit<StoredMemory, "number" | "slot">): string {
  const { callId, createdAt, delegationId, id, key, lineage, profile } = memory;
  const { scope, supersedes, tags, text, workspace } = memory;
  const origin = [id, delegationId, callId, lineage, profile, workspace, scope];
  return sha256(JSON.stringify([...origin, key, tags, text, supersedes, createdAt]));
}

/** The same of a memory that was read or saved: what the event of its call commits to. */
export function memoryHash(memory: Memory): string {
  const { lineage, tags } = memory;
  return storedMemoryHash({
    ...memory,
    lineage: JSON.stringify(lineage),
    tags: JSON.stringify(tags),
  });
}

/** Of the memories that a run leaves behind when it is pruned, in the order of their numbers. */
export function memoriesHash(memories: readonly StoredMemory[]): string {
  const sorted = memories.toSorted((left, right) => left.number - right.number);
  return sha256(sorted.map(storedMemoryHash).join("\n"));
}

/**
 * Memories of one slot replace each other: the latest counts. Only an agent that could have saved a
 * memory can replace it: of a delegated one its own delegation, of a shared one every agent that may
 * save shared ones in the same workspace.
 */
export function memorySlot(memory: {
  readonly delegationId: string;
  readonly key: string | null;
  readonly scope: string;
  readonly workspace: string | null;
}): string | null {
  const { delegationId, key, scope, workspace } = memory;
  if (key === null) return null;
  return JSON.stringify([scope, workspace, scope === "shared" ? null : delegationId, key]);
}
