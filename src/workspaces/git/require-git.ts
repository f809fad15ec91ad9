import { findGit } from "./find-git.ts";
import { GitFailure } from "./git-failure.ts";
import { isRecentEnough } from "./is-recent-enough.ts";
import { askGit } from "./run-git.ts";

/** By the program's file: with another PATH, another git is used. */
const known = new Map<string, Promise<string>>();

/** The version of git that is here; fails when there is none, or one that is too old. */
export async function requireGit(): Promise<string> {
  const { file } = findGit("version");
  const version = known.get(file) ?? readVersion();
  known.set(file, version);
  try {
    return await version;
  } catch (error) {
    // Asked again next time: it may have been installed by then.
    known.delete(file);
    throw error;
  }
}

async function readVersion(): Promise<string> {
  const said = await askGit(["version"]);
  const version = /\d+\.\d+(?:\.\d+)*/.exec(said)?.[0] ?? "0";
  if (isRecentEnough(version)) return version;
  throw new GitFailure("too-old", "version", { stderr: version });
}
