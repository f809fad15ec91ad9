import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Contract } from "../contracts/contract.ts";
import type { Delegation } from "../events/delegation.ts";
import type { Store } from "../ports/store.ts";

/**
 * Those of the delegations that failed and left changes in a copy. A copy without changes is about
 * to be removed, or was left by a process that ended: it is not work that is kept.
 */
export async function keptWorkIn(
  { store, home }: { readonly store: Store; readonly home: string },
  delegations: Iterable<Delegation>,
): Promise<readonly string[]> {
  const copies = new Set(await copiesIn(home));
  if (copies.size === 0) return [];
  const kept: string[] = [];
  for (const delegation of delegations) {
    if (delegation.status !== "closed" || delegation.finalStatus !== "failed") continue;
    // One whose contract cannot be trusted says nothing, and merging it will tell why.
    const contract: Contract | undefined = await store
      .readContract(delegation.id)
      .catch(() => undefined);
    const copy = contract?.workspace.copy?.id ?? "";
    if (copies.has(copy) && (await hasChanges(home, copy))) kept.push(delegation.id);
  }
  return kept;
}

/** True also when the copy cannot be read: the person decides about it. */
async function hasChanges(home: string, id: string): Promise<boolean> {
  const { openWorkingCopy } = await import("../workspaces/git/copies/working-copy.ts");
  const { collectChanges } = await import("../workspaces/git/copies/collect-changes.ts");
  try {
    const { files, problems } = await collectChanges(openWorkingCopy(home, id));
    return files.length > 0 || problems.length > 0;
  } catch {
    return existsSync(join(home, "copies", id));
  }
}

/** The runs whose delegations the copies of a home were made for. */
export async function runsWithCopies({
  store,
  home,
}: {
  readonly store: Store;
  readonly home: string;
}): Promise<ReadonlySet<string>> {
  const runs = new Set<string>();
  for (const id of await copiesIn(home)) {
    const runId = await store.findRun(id);
    if (runId !== undefined) runs.add(runId);
  }
  return runs;
}

/** Looking at runs is to start at once: without copies, nothing about copies is loaded. */
async function copiesIn(home: string): Promise<readonly string[]> {
  if (!existsSync(join(home, "copies"))) return [];
  const module = await import("../workspaces/git/copies/list-working-copies.ts");
  return module.listWorkingCopies(home);
}
