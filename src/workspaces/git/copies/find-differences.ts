import { posix } from "node:path";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import { isTemporaryName } from "../../temporary-name.ts";
import { entryAt } from "../entry-at.ts";
import type { GitContext } from "../git-environment.ts";
import { type RawPath, rawPlace, splitRaw } from "../raw-path.ts";
import { runGit } from "../run-git.ts";

/** One file or link that is not as an index has it. */
export interface Difference {
  readonly path: RawPath;
  readonly isNew: boolean;
  readonly isLink: boolean;
  readonly bytes: number;
}

export interface Differences {
  readonly present: readonly Difference[];
  readonly removed: readonly RawPath[];
  /** Folders with a `.git` of their own: not looked into. */
  readonly nested: readonly RawPath[];
  /** Pipes, sockets, devices. */
  readonly special: readonly RawPath[];
}

type WorkTreeContext = GitContext & { readonly workTree: string; readonly signal?: AbortSignal };

/** Compares a work tree with an index: changed, new and not ignored, gone. Writes nothing. */
export async function findDifferences(context: WorkTreeContext): Promise<Differences> {
  const options = { ...context, maximumBytes: 256 * 1024 * 1024 };
  const compare = ["diff-files", "--name-status", "-z", "--no-renames", "--ignore-submodules=all"];
  const [changed, others] = await Promise.all([
    runGit(compare, options),
    runGit(["ls-files", "--others", "--exclude-standard", "-z"], options),
  ]);
  const removed: RawPath[] = [];
  const nested: RawPath[] = [];
  const candidates: { path: RawPath; isNew: boolean }[] = [];
  const statuses = splitRaw(changed.stdout);
  for (let index = 0; index + 1 < statuses.length; index += 2) {
    const path = statuses[index + 1] ?? "";
    if (statuses[index] === "D") removed.push(path);
    else candidates.push({ path, isNew: false });
  }
  for (const path of splitRaw(others.stdout)) {
    if (isTemporaryName(posix.basename(path))) continue;
    if (path.endsWith("/")) nested.push(path.slice(0, -1));
    else candidates.push({ path, isNew: true });
  }
  return { ...(await measure(context.workTree, candidates, removed, nested)) };
}

async function measure(
  folder: string,
  candidates: readonly { readonly path: RawPath; readonly isNew: boolean }[],
  removed: RawPath[],
  nested: RawPath[],
): Promise<Differences> {
  const present: Difference[] = [];
  const special: RawPath[] = [];
  for (const [index, { path, isNew }] of candidates.entries()) {
    if (index % 2000 === 1999) await yieldToOthers();
    const stats = entryAt(rawPlace(folder, path));
    if (stats === undefined) removed.push(path);
    else if (stats.isFile() || stats.isSymbolicLink()) {
      present.push({ path, isNew, isLink: stats.isSymbolicLink(), bytes: stats.size });
    } else if (stats.isDirectory()) {
      // Listed as one entry although it is a folder: it holds a repository where a file was.
      removed.push(path);
      nested.push(path);
    } else special.push(path);
  }
  return { present, removed, nested, special };
}
