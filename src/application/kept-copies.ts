import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Contract } from "../contracts/contract.ts";
import type { Delegation } from "../events/delegation.ts";
import type { RunState } from "../events/run-state.ts";
import type { Store } from "../ports/store.ts";

/**
 * The failed delegations with changes in a copy. A copy without changes is no kept work: it is
 * about to be removed, or a dead process left it.
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
    // An invalid contract is skipped; the merge reports it.
    const contract: Contract | undefined = await store
      .readContract(delegation.id)
      .catch(() => undefined);
    const copy = contract?.workspace.copy?.id ?? "";
    if (copies.has(copy) && (await hasChanges(home, copy))) kept.push(delegation.id);
  }
  return kept;
}

/** Runs with changes that wait for a decision, latest first; `most` bounds the copies that are read. */
export async function runsWithKeptWork(
  parts: { readonly store: Store; readonly home: string },
  most: number,
): Promise<readonly { readonly run: RunState; readonly delegationIds: readonly string[] }[]> {
  const found = [];
  const runs: RunState[] = [];
  for (const id of await runsWithCopies(parts)) {
    const run = await parts.store.readRun(id).catch(() => undefined);
    if (run !== undefined) runs.push(run);
  }
  runs.sort((one, other) => other.startedAt - one.startedAt);
  for (const run of runs.slice(0, most)) {
    const delegationIds = await keptWorkIn(parts, run.delegations.values());
    if (delegationIds.length > 0) found.push({ run, delegationIds });
  }
  return found;
}

/** True for an unreadable copy: the person decides about it. */
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

/** The runs of the delegations that have copies in a home. */
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

/** The ids of copies. Without copies no module for copies is loaded, which keeps the start fast. */
export async function copiesIn(home: string): Promise<readonly string[]> {
  if (!existsSync(join(home, "copies"))) return [];
  const module = await import("../workspaces/git/copies/list-working-copies.ts");
  return module.listWorkingCopies(home);
}
