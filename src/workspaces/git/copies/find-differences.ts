import { posix } from "node:path";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import { isTemporaryName } from "../../open-folder.ts";
import { entryAt } from "../look-at-file.ts";
import { joinRaw, type RawPath, rawPlace, splitRaw } from "../place.ts";
import { askGit, type GitContext, runGit } from "../run-git.ts";

/** A file or link that differs from the index. */
interface Difference {
  readonly path: RawPath;
  readonly isNew: boolean;
  readonly isLink: boolean;
  readonly bytes: number;
}

export interface Differences {
  readonly present: readonly Difference[];
  readonly removed: readonly RawPath[];
  /** Folders with a `.git` of their own; their contents are not listed. */
  readonly nested: readonly RawPath[];
  /** Pipes, sockets, devices. */
  readonly special: readonly RawPath[];
}

type WorkTreeContext = GitContext & { readonly workTree: string; readonly signal?: AbortSignal };

/** Compares a work tree with an index: changed, new and not ignored, removed. Writes nothing. */
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
      // One entry for a folder: a repository is where a file was.
      removed.push(path);
      nested.push(path);
    } else special.push(path);
  }
  return { present, removed, nested, special };
}

/**
 * Updates an index and writes its tree. `packed`: paths that are probably not stored yet. Their
 * contents go into one pack, which is several times faster than one file for each.
 */
export async function recordDifferences(
  context: GitContext & { readonly signal?: AbortSignal },
  paths: {
    readonly removed: readonly RawPath[];
    readonly loose: readonly RawPath[];
    readonly packed: readonly RawPath[];
  },
): Promise<string> {
  const update = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
  if (paths.removed.length > 0) {
    const input = joinRaw(paths.removed);
    await runGit(["update-index", "--force-remove", "-z", "--stdin"], { ...context, input });
  }
  if (paths.loose.length > 0) {
    await runGit(update, { ...context, input: joinRaw(paths.loose) });
  }
  if (paths.packed.length > 0) {
    const settings = ["core.bigFileThreshold=1"];
    await runGit(update, { ...context, input: joinRaw(paths.packed), settings });
  }
  return askGit(["write-tree"], context);
}
