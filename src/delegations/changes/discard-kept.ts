import { MandateError } from "../../ports/mandate-error.ts";
import { collectChanges } from "../../workspaces/git/copies/collect-changes.ts";
import { discardWorkingCopy } from "../../workspaces/git/copies/discard-working-copy.ts";
import { copiesOf } from "../../workspaces/git/copies/list-working-copies.ts";
import type { WorkingCopy } from "../../workspaces/git/copies/working-copy.ts";
import { GitFailure } from "../../workspaces/git/git-failure.ts";
import { namesOf, RepositoryRefused } from "../../workspaces/git/repository-refusal.ts";
import { holdUnused, isClosed } from "./copy-users.ts";
import { findWork, type KeptWorkParts, requireCopy, type Work } from "./kept-work.ts";

export interface DiscardKeptOptions {
  /** Also what was not merged: nothing of it is left afterwards. */
  readonly deleteChanges?: boolean;
}

export type DiscardedWork = {
  readonly delegationId: string;
  /** What was not merged, relative to the workspace. */
  readonly files: readonly string[];
} & (
  | { readonly status: "discarded" }
  /** Nothing was changed, because it would be lost. */
  | { readonly status: "kept"; readonly sentence: string }
);

/** Removes the copy of a delegation that has ended; work is lost only where the caller says so. */
export async function discardKept(
  parts: KeptWorkParts,
  id: string,
  { deleteChanges = false }: DiscardKeptOptions = {},
): Promise<DiscardedWork> {
  const isMeant = (work: Work): boolean => isClosed(work) && work.copy !== undefined;
  const found = await requireCopy(parts, await findWork(parts, id, isMeant));
  return holdUnused(parts, found, async ({ copy, delegation }) => {
    requireNoCopies(delegation.id, copiesOf(copy));
    const about = { delegationId: delegation.id };
    if (deleteChanges) {
      const files = await filesOf(copy);
      await discardWorkingCopy(copy, { unmerged: "delete" });
      return { ...about, status: "discarded", files };
    }
    const result = await discardWorkingCopy(copy, { unmerged: "keep" });
    if (result.status !== "kept") return { ...about, status: "discarded", files: [] };
    const files = result.files.map(({ path }) => path);
    const lost = files.length === 0 ? "what cannot be listed" : namesOf(files);
    const sentence = `Delegation ${delegation.id} changed ${lost}, and that was not merged. Merge it, or say that its changes are to be deleted.`;
    return { ...about, status: "kept", files, sentence };
  });
}

/** A copy that is damaged can be thrown away as well. */
async function filesOf(copy: WorkingCopy): Promise<readonly string[]> {
  try {
    return (await collectChanges(copy)).files.map(({ path }) => path);
  } catch (error) {
    if (error instanceof RepositoryRefused || error instanceof GitFailure) return [];
    throw error;
  }
}

function requireNoCopies(id: string, copies: readonly string[]): void {
  if (copies.length === 0) return;
  throw new MandateError(
    "conflict",
    `The work of ${copies.join(", ")} was made on top of that of ${id}. Merge or discard that first.`,
  );
}
