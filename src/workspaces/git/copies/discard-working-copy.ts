import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writeDurablySync } from "../../../files.ts";
import { GitFailure, RepositoryRefused } from "../git-failure.ts";
import { inspectRepository } from "../inspect-repository.ts";
import { IntegrationQueue } from "../integration/integration-queue.ts";
import { readOutcome } from "../integration/integration-result.ts";
import { recoverPlace } from "../integration/recover-integration.ts";
import { removeFolder } from "../remove-folder.ts";
import { runGit } from "../run-git.ts";
import { type ChangedFile, collectChanges } from "./collect-changes.ts";
import { layoutOf, refOf, type WorkingCopy, worktreesOf } from "./working-copy.ts";

interface DiscardOptions {
  /**
   * What becomes of work that was not merged. `keep` (also when unsaid): the whole copy stays.
   * `keep-commits`: the folder goes, its changes stay in the vault as `refs/mandate/<id>`.
   * `delete`: everything goes, that ref in the person's repository included.
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

/** Removes a working copy, and nothing outside of it; work is not lost unless told so. */
export async function discardWorkingCopy(
  copy: WorkingCopy,
  options: DiscardOptions = {},
): Promise<DiscardResult> {
  const unmerged = options.unmerged ?? "keep";
  const { toplevel } = copy.source;
  // An integration that a crash cut off still needs what is kept here.
  const work = () => recoverPlace(copy.home, toplevel);
  await new IntegrationQueue(copy.home).run(toplevel, work, { purpose: "files" });
  const copies = join(copy.home, "copies");
  if (unmerged !== "delete" && existsSync(copy.folder)) {
    const changes = await collectChanges(copy);
    const isMerged = changes.commit === null || changes.commit === readOutcome(copy)?.child;
    // What was sent to its caller's machine is that machine's to keep, with what was said of it.
    const isElsewhere = isSent(copy, changes.tree);
    if (!isElsewhere && (!isMerged || changes.problems.length > 0)) {
      if (unmerged === "keep" || changes.commit === null) {
        const sentence = `The working copy "${copy.id}" has changes that were not merged, and is kept in ${copy.folder}. Merge it, or discard it with its changes.`;
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
    const { place } = await inspectRepository(copy.source.toplevel, copy.home);
    if (place.kind !== "git") return;
    const { gitDirectory } = place;
    await runGit(["update-ref", "-d", refOf(copy.id)], { gitDirectory });
  } catch (error) {
    // Their repository is unreadable or gone: nothing of ours can be left in it that matters.
    if (!(error instanceof RepositoryRefused) && !(error instanceof GitFailure)) throw error;
  }
}

/**
 * Which state of a copy the store has, where that copy is of a folder on another machine: so much
 * of it needs to be kept here no longer than its delegation is open.
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
