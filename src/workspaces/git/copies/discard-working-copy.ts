import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writeDurablySync } from "../../../files.ts";
import { discoverRepository } from "../discover-repository.ts";
import { GitFailure, RepositoryRefused } from "../git-failure.ts";
import { IntegrationQueue } from "../integration/integration-queue.ts";
import { readOutcome } from "../integration/integration-result.ts";
import { recoverPlace } from "../integration/recover-integration.ts";
import { removeFolder } from "../remove-folder.ts";
import { runGit } from "../run-git.ts";
import { type ChangedFile, collectChanges } from "./collect-changes.ts";
import { layoutOf, refOf, type WorkingCopy, worktreesOf } from "./working-copy.ts";

interface DiscardOptions {
  /**
   * What happens to unmerged work. `keep` (the default): the whole copy stays. `keep-commits`: the
   * folder is removed, its changes stay in the vault as `refs/mandate/<id>`. `delete`: everything
   * is removed, including that ref in the person's repository.
   */
  readonly unmerged?: "keep" | "keep-commits" | "delete";
}

type DiscardResult =
  | { readonly status: "removed" }
  | { readonly status: "removed-folder"; readonly commit: string }
  | {
      readonly status: "kept";
      readonly files: readonly ChangedFile[];
      readonly sentence: string;
    };

/** Removes a working copy and nothing outside it. Unmerged work is kept by default. */
export async function discardWorkingCopy(
  copy: WorkingCopy,
  options: DiscardOptions = {},
): Promise<DiscardResult> {
  const unmerged = options.unmerged ?? "keep";
  const { toplevel } = copy.source;
  // An integration that a crash interrupted still needs files of this copy.
  const work = () => recoverPlace(copy.home, toplevel);
  await new IntegrationQueue(copy.home).run(toplevel, work, { purpose: "files" });
  const copies = join(copy.home, "copies");
  if (unmerged !== "delete" && existsSync(copy.folder)) {
    const changes = await collectChanges(copy);
    const isMerged = changes.commit === null || changes.commit === readOutcome(copy)?.child;
    // Changes that were sent to the caller's machine, with their problems, are kept by that
    // machine.
    const isElsewhere = isSent(copy, changes.tree);
    if (!isElsewhere && (!isMerged || changes.problems.length > 0)) {
      if (unmerged === "keep" || changes.commit === null) {
        const sentence = `The working copy "${copy.id}" has unmerged changes and is kept in ${copy.folder}. Merge it, or discard it with its changes.`;
        return { status: "kept", files: changes.files, sentence };
      }
      await removeFolder(worktreesOf(copy.home), copy.id);
      return { status: "removed-folder", commit: changes.commit };
    }
  }
  if (existsSync(worktreesOf(copy.home))) await removeFolder(worktreesOf(copy.home), copy.id);
  if (unmerged === "delete") await forgetRef(copy);
  if (existsSync(copies)) await removeFolder(copies, copy.id);
  return { status: "removed" };
}

async function forgetRef(copy: WorkingCopy): Promise<void> {
  if (copy.source.kind !== "git" || !existsSync(copy.source.toplevel)) return;
  try {
    const repository = await discoverRepository(copy.source.toplevel);
    // The source is another repository now, or none.
    if (repository?.toplevel !== copy.source.toplevel) return;
    const { gitDirectory } = repository;
    await runGit(["update-ref", "-d", refOf(copy.id)], { gitDirectory });
  } catch (error) {
    // The person's repository is unreadable or gone, so the ref does not matter.
    if (!(error instanceof RepositoryRefused) && !(error instanceof GitFailure)) throw error;
  }
}

/**
 * Records which state of a copy was stored in the artifacts. The copy of a folder on another
 * machine then needs to be kept only as long as its delegation is open.
 */
export function noteSent(copy: WorkingCopy, tree: string): void {
  if (copy.source.kind === "elsewhere") writeDurablySync(placeOf(copy), JSON.stringify({ tree }));
}

function isSent(copy: WorkingCopy, tree: string): boolean {
  if (copy.source.kind !== "elsewhere" || !existsSync(placeOf(copy))) return false;
  return (JSON.parse(readFileSync(placeOf(copy), "utf8")) as { tree: unknown }).tree === tree;
}

export function forgetSent(copy: WorkingCopy): void {
  rmSync(placeOf(copy), { force: true });
}

function placeOf({ home, id }: WorkingCopy): string {
  return join(layoutOf(home, id).own, "sent.json");
}
