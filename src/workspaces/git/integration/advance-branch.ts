import { GitFailure } from "../git-failure.ts";
import { rawOf } from "../raw-path.ts";
import { askGit, runGit } from "../run-git.ts";
import type { IntegrationJournal } from "./integration-journal.ts";

export type BranchOutcome =
  | { readonly commit: string }
  /** The files are merged and stand there uncommitted. */
  | { readonly commit: null; readonly notCommitted: string };

/**
 * Moves the person's branch to the merged commit and tells their index about the files that
 * changed. Only if the branch is where it was when the merge was made. May be repeated.
 */
export async function advanceBranch(
  journal: IntegrationJournal,
): Promise<BranchOutcome | Record<string, never>> {
  const { branch } = journal;
  if (branch === null) return {};
  const context = { gitDirectory: branch.gitDirectory, workTree: journal.toplevel };
  try {
    const current = await askGit(["rev-parse", "--verify", "HEAD"], context);
    if (current !== branch.after) {
      const on = await askGit(["symbolic-ref", "--quiet", "HEAD"], { ...context, answers: [1] });
      if (on !== branch.name || current !== branch.before) {
        return { commit: null, notCommitted: "the branch was moved in the meantime" };
      }
      const message = `mandate: merged ${journal.id}`;
      const args = ["update-ref", "-m", message, branch.name, branch.after, branch.before];
      await runGit(args, context);
    }
    const input = Buffer.from(
      journal.steps.map((step) => indexLine(journal, step)).join(""),
      "latin1",
    );
    await runGit(["update-index", "--replace", "-z", "--index-info"], { ...context, input });
    await runGit(["update-index", "-q", "--refresh"], { ...context, answers: [1] });
    return { commit: branch.after };
  } catch (error) {
    if (!(error instanceof GitFailure)) throw error;
    const commit = await askGit(["rev-parse", "--verify", "HEAD"], context).catch(() => "");
    if (commit === branch.after) return { commit };
    return { commit: null, notCommitted: error.message };
  }
}

function indexLine(
  { objectFormat }: IntegrationJournal,
  { path, after }: IntegrationJournal["steps"][number],
): string {
  if (after !== null) return `${after.mode} ${after.object} 0\t${rawOf(path)}\0`;
  return `0 ${"0".repeat(objectFormat === "sha1" ? 40 : 64)}\t${rawOf(path)}\0`;
}
