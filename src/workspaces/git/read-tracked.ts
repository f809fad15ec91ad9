import type { GitContext } from "./git-environment.ts";
import type { TrackedEntry } from "./place.ts";
import { splitRaw } from "./raw-path.ts";
import { runGit } from "./run-git.ts";

export interface TrackedFiles {
  readonly entries: readonly TrackedEntry[];
  /** A merge that has not been resolved. */
  readonly unmerged: readonly string[];
  /** Left out of the work tree on purpose. */
  readonly sparse: readonly string[];
}

/** What an index lists. Reads the index alone; no file of the work tree is looked at. */
export async function readTracked(context: GitContext): Promise<TrackedFiles> {
  const options = { ...context, maximumBytes: 512 * 1024 * 1024 };
  const { stdout } = await runGit(["ls-files", "--stage", "-v", "-z", "--full-name"], options);
  const entries: TrackedEntry[] = [];
  const unmerged: string[] = [];
  const sparse: string[] = [];
  for (const line of splitRaw(stdout)) {
    const tab = line.indexOf("\t");
    const [tag = "", mode = "", object = "", stage = ""] = line.slice(0, tab).split(" ");
    const path = line.slice(tab + 1);
    // Upper or lower case: the second says that git was told not to look for changes. We look.
    if (tag.toUpperCase() === "S") sparse.push(path);
    if (stage === "0") entries.push({ mode, object, path });
    else if (unmerged.at(-1) !== path) unmerged.push(path);
  }
  return { entries, unmerged, sparse };
}
