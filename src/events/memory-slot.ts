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
