import { GitFailure } from "./git-failure.ts";
import { askGit } from "./run-git.ts";

/** `merge-tree --write-tree` came with it, and `safe.bareRepository`. */
export const oldestGit = "2.38";

let known: Promise<string> | undefined;

/** The version of git that is here; fails when there is none, or one that is too old. */
export function requireGit(): Promise<string> {
  known ??= readVersion().catch((error: unknown) => {
    // Asked again next time: it may have been installed by then.
    known = undefined;
    throw error;
  });
  return known;
}

async function readVersion(): Promise<string> {
  const said = await askGit(["version"]);
  const version = /\d+\.\d+(?:\.\d+)*/.exec(said)?.[0] ?? "0";
  if (isRecentEnough(version)) return version;
  throw new GitFailure("too-old", "version", { stderr: version });
}

export function isRecentEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [wanted = 0, atLeast = 0] = oldestGit.split(".").map(Number);
  return major > wanted || (major === wanted && minor >= atLeast);
}
