import { isOpen } from "../../events/delegation.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Store } from "../../ports/store.ts";
import type { EngineParts } from "../engine-parts.ts";

/** The copies in which open delegations work, with the delegation of each. */
export async function usedCopies(store: Store): Promise<ReadonlyMap<string, string>> {
  const used = new Map<string, string>();
  for (const { id } of await store.listRuns({ open: true, limit: 10_000 })) {
    const run = await store.readRun(id);
    for (const delegation of run?.delegations.values() ?? []) {
      if (!isOpen(delegation)) continue;
      const copy = await copyIn(store, delegation.id);
      if (copy !== undefined) used.set(copy, delegation.id);
    }
  }
  return used;
}

/** A delegation whose contract cannot be read uses no copy: recovery closes it. */
async function copyIn(store: Store, id: string): Promise<string | undefined> {
  try {
    return (await store.readContract(id)).workspace.copy?.id;
  } catch (error) {
    if (error instanceof MandateError) return undefined;
    throw error;
  }
}

/** Throws when an open delegation works in this copy. */
export async function requireUnused(store: Store, copy: string): Promise<void> {
  const user = (await usedCopies(store)).get(copy);
  if (user === undefined) return;
  throw new MandateError(
    "not-resumable",
    `Delegation ${user} works in the copy of ${copy} already. Wait for it, or cancel it first.`,
  );
}

/** Removes the remains of copies after a crash, and completes merges that it interrupted. */
export async function tidyCopies({
  copies,
  hasCopies,
  store,
}: Pick<EngineParts, "copies" | "hasCopies" | "store">): Promise<void> {
  if (!hasCopies()) return;
  const inUse = async () => new Set((await usedCopies(store)).keys());
  await (await copies()).tidy(inUse);
}
