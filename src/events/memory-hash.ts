import type { StoredMemory } from "../ports/inspection.ts";
import type { Memory } from "../ports/memory-store.ts";
import { sha256 } from "./hash-chain.ts";

/** The hash of a stored memory. Decisions of people about it are records, and not part of it. */
export function storedMemoryHash(memory: Omit<StoredMemory, "number" | "slot">): string {
  const { callId, createdAt, delegationId, id, key, lineage, profile } = memory;
  const { scope, supersedes, tags, text, workspace } = memory;
  const origin = [id, delegationId, callId, lineage, profile, workspace, scope];
  return sha256(JSON.stringify([...origin, key, tags, text, supersedes, createdAt]));
}

/** The hash of a memory, as in the event of the call that saved it. */
export function memoryHash(memory: Memory): string {
  const { lineage, tags } = memory;
  return storedMemoryHash({
    ...memory,
    lineage: JSON.stringify(lineage),
    tags: JSON.stringify(tags),
  });
}

/** The hash of all memories of a pruned run, in the order of their numbers. */
export function memoriesHash(memories: readonly StoredMemory[]): string {
  const sorted = memories.toSorted((left, right) => left.number - right.number);
  return sha256(sorted.map(storedMemoryHash).join("\n"));
}

/**
 * The slot of a memory; null: it has no key. A memory replaces the earlier one in its slot. A delegated
 * memory can be replaced only by its own delegation, a shared one by every agent that may save shared
 * memories in the same workspace.
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
