import type { GitContext } from "./git-environment.ts";
import { type RawPath, splitRaw } from "./raw-path.ts";
import { runGit } from "./run-git.ts";

/** One side of a changed path: what git calls its mode, and the hash of its content. */
export interface TreeEntry {
  readonly mode: string;
  readonly object: string;
}

export interface TreeChange {
  readonly path: RawPath;
  readonly before: TreeEntry | null;
  readonly after: TreeEntry | null;
}

/** What differs between two trees, path by path; a rename is one path gone and another one new. */
export async function readTreeChanges(
  context: GitContext,
  before: string,
  after: string,
): Promise<readonly TreeChange[]> {
  const args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", before, after];
  const { stdout } = await runGit(args, { ...context, maximumBytes: 256 * 1024 * 1024 });
  const fields = splitRaw(stdout);
  const changes: TreeChange[] = [];
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const [from = "", to = "", old = "", now = ""] = (fields[index] ?? "").slice(1).split(" ");
    changes.push({
      path: fields[index + 1] ?? "",
      before: entryOf(from, old),
      after: entryOf(to, now),
    });
  }
  return changes;
}

function entryOf(mode: string, object: string): TreeEntry | null {
  return mode === "000000" ? null : { mode, object };
}

export async function readTreePaths(
  context: GitContext,
  tree: string,
): Promise<readonly RawPath[]> {
  const args = ["ls-tree", "-r", "-z", "--name-only", "--full-tree", tree];
  return splitRaw((await runGit(args, { ...context, maximumBytes: 256 * 1024 * 1024 })).stdout);
}
