import { layoutOf, refOf } from "../copies/copy-layout.ts";
import type { WorkingCopy } from "../copies/working-copy.ts";
import { GitFailure } from "../git-failure.ts";
import type { Inspection } from "../inspect-repository.ts";
import type { Place } from "../place.ts";
import { askGit, runGit } from "../run-git.ts";
import type { IntegrationJournal } from "./integration-journal.ts";

interface BranchPlan {
  readonly branch: IntegrationJournal["branch"];
  readonly outcome: { readonly notCommitted?: string };
}

const none: BranchPlan = { branch: null, outcome: {} };

/**
 * Makes the commit that the person's branch is to be moved to, if that is asked for and possible.
 * It is not when they have uncommitted changes (which would become part of it), when HEAD is on no
 * branch, or when their git converts contents: then a commit would need their filters to run. The
 * merge itself is made either way, and its changes stay uncommitted.
 */
export async function planBranch(
  copy: WorkingCopy,
  prepared: {
    readonly inspection: Inspection;
    readonly currentTree: string;
    readonly tree: string;
  },
  asked: { readonly message: string } | undefined,
): Promise<BranchPlan> {
  if (asked === undefined) return none;
  const { place, conversions } = prepared.inspection;
  if (place.kind !== "git") return without("the workspace is no repository");
  const { head, branch, gitDirectory } = place;
  if (head === null) return without("the branch has no commit yet");
  if (branch === null) return without("HEAD is on no branch");
  if (conversions.inUse) return without("the repository converts contents (filters or line ends)");
  const vault = { gitDirectory: layoutOf(copy.home, copy.id).vault };
  const headTree = await askGit(["rev-parse", "--verify", `${head}^{tree}`], vault);
  const context = { gitDirectory, workTree: place.toplevel };
  const staged = ["diff-index", "--cached", "--quiet", "--ignore-submodules=all", head, "--"];
  const { exitCode } = await runGit(staged, { ...context, answers: [1] });
  if (headTree !== prepared.currentTree || exitCode !== 0) {
    return without("there are uncommitted changes");
  }
  const args = ["commit-tree", prepared.tree, "-p", head, "-F", "-"];
  const after = await askGit(args, { ...vault, input: asked.message });
  await handOverCommits(copy, gitDirectory, after, [head]);
  return { branch: { gitDirectory, name: branch, before: head, after }, outcome: {} };
}

function without(reason: string): BranchPlan {
  return { branch: null, outcome: { notCommitted: reason } };
}

const maximumBytes = 256 * 1024 * 1024;

/**
 * Gives the person's repository a commit of ours, with everything it needs and nothing it has.
 * Objects are only added; no ref moves.
 */
async function handOverCommits(
  copy: WorkingCopy,
  gitDirectory: string,
  commit: string,
  known: readonly string[],
): Promise<void> {
  const wanted = [commit, ...known.map((object) => `^${object}`)].join("\n");
  const pack = await runGit(["pack-objects", "--revs", "--stdout", "-q"], {
    gitDirectory: layoutOf(copy.home, copy.id).vault,
    input: `${wanted}\n`,
    maximumBytes,
  });
  await runGit(["index-pack", "--stdin"], { gitDirectory, input: pack.stdout });
}

export type KeptIn = "repository" | "vault";

/**
 * Makes work that was not merged reachable for the person: as `refs/mandate/<id>` in their
 * repository, or, where there is none, in the vault of the copy, which has it in any case.
 */
export async function keepCommits(
  copy: WorkingCopy,
  place: Place,
  commit: string,
): Promise<KeptIn> {
  if (place.kind !== "git") return "vault";
  const { gitDirectory } = place;
  try {
    const known = copy.head === null ? [] : [copy.head];
    await handOverCommits(copy, gitDirectory, commit, known);
    await runGit(["update-ref", refOf(copy.id), commit], { gitDirectory });
    return "repository";
  } catch (error) {
    // A read-only or damaged repository is no reason to lose the reason for the failure.
    if (error instanceof GitFailure) return "vault";
    throw error;
  }
}
