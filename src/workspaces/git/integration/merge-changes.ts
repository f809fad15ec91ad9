import type { GitContext } from "../git-environment.ts";
import { shownRaw, splitRaw } from "../raw-path.ts";
import { askGit, runGit } from "../run-git.ts";

export type MergeOutcome =
  | { readonly status: "clean"; readonly how: "fast-forward" | "three-way"; readonly tree: string }
  | { readonly status: "conflict"; readonly files: readonly string[] };

/**
 * Brings a child's changes together with what its base has become since. Happens in the vault, on
 * trees alone: no file of anybody is touched, whatever comes out.
 */
export async function mergeChanges(
  context: GitContext,
  sides: {
    readonly base: string;
    readonly baseTree: string;
    /** What the target holds now. */
    readonly currentTree: string;
    readonly child: string;
    readonly childTree: string;
  },
): Promise<MergeOutcome> {
  if (sides.currentTree === sides.baseTree || sides.currentTree === sides.childTree) {
    return { status: "clean", how: "fast-forward", tree: sides.childTree };
  }
  // A commit on the base for the target's state: so git finds the base as the common ancestor.
  const commit = ["commit-tree", sides.currentTree, "-p", sides.base, "-m", "The workspace now"];
  const current = await askGit(commit, { ...context, date: 0 });
  const args = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages"];
  const { exitCode, stdout } = await runGit([...args, current, sides.child], {
    ...context,
    answers: [1],
  });
  const [tree = "", ...files] = splitRaw(stdout);
  if (exitCode === 0) return { status: "clean", how: "three-way", tree };
  return { status: "conflict", files: [...new Set(files.map(shownRaw))].sort() };
}
