import { layoutOf, refOf } from "../copies/copy-layout.ts";
import type { WorkingCopy } from "../copies/working-copy.ts";
import { GitFailure } from "../git-failure.ts";
import type { Place } from "../place.ts";
import { runGit } from "../run-git.ts";

const maximumBytes = 256 * 1024 * 1024;

/**
 * Gives the person's repository a commit of ours, with everything it needs and nothing it has.
 * Objects are only added; no ref moves.
 */
export async function handOverCommits(
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
