import { GitFailure } from "./git-failure.ts";
import { isRecentEnough } from "./is-recent-enough.ts";
import { askGit } from "./run-git.ts";

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
