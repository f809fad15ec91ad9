import { lstatSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, resolve, sep } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";
import { realFolderSync } from "../../files.ts";
import { GitFailure, type RefusalCode, RepositoryRefused } from "./git-failure.ts";
import type { ObjectFormat } from "./read-git.ts";
import { askGit, runGit } from "./run-git.ts";

/** Where the parts of a repository are. */
export interface DiscoveredRepository {
  readonly toplevel: string;
  readonly prefix: string;
  readonly gitDirectory: string;
  readonly objectFormat: ObjectFormat;
  readonly objects: string;
  readonly index: string;
  readonly exclude: string;
  readonly attributes: string;
  readonly shallow: string;
}

/**
 * Finds the repository around a folder; undefined when no repository is there. A repository that
 * cannot be read is a refusal, and is never treated as a plain folder.
 */
export async function discoverRepository(
  folder: string,
): Promise<DiscoveredRepository | undefined> {
  const lines = await describe(folder);
  if (lines === undefined) return undefined;
  const [isBare, isInside, format, git, top, objects, index, exclude, attributes, shallow] = lines;
  const prefix = lines[10] ?? "";
  if (isBare === "true") throw refuse("bare", folder);
  if (isInside === "true") throw refuse("inside-git-directory", folder);
  const isMore = lines.length > 11;
  if (isMore || !top || !git || !objects || !index || !exclude || !attributes || !shallow)
    throw refuse("unusual-path", folder);
  const toplevel = realpathSync.native(top);
  const gitDirectory = realpathSync.native(git);
  // Configuration can name any folder as the work tree; only the folder around `.git` is accepted.
  if (gitDirectoryOf(toplevel) !== gitDirectory) throw refuse("work-tree-elsewhere", folder);
  if (!isBelow(gitDirectory, toplevel) && !(await knowsWorkTree(gitDirectory, toplevel))) {
    throw refuse("foreign-git-directory", folder);
  }
  return {
    toplevel,
    prefix: prefix.replace(/\/$/, ""),
    gitDirectory,
    objectFormat: format === "sha256" ? "sha256" : "sha1",
    ...{ objects, index, exclude, attributes, shallow },
  };
}

const kind = ["--is-bare-repository", "--is-inside-git-dir"];

const paths = [
  "--path-format=absolute",
  "--show-object-format",
  "--git-dir",
  "--show-toplevel",
  ...["objects", "index", "info/exclude", "info/attributes", "shallow"].flatMap((name) => [
    "--git-path",
    name,
  ]),
  "--show-prefix",
];

/**
 * One line for each part of both lists. Where there is no work tree, git says what the place is only
 * when it is not asked for the paths as well.
 */
async function describe(folder: string): Promise<readonly string[] | undefined> {
  try {
    return await ask(folder, [...kind, ...paths]);
  } catch (error) {
    const isUnclear = error instanceof RepositoryRefused && error.refusal.code === "corrupt";
    if (!isUnclear) throw error;
    const lines = await ask(folder, kind);
    if (lines?.includes("true") !== true) throw error;
    return lines;
  }
}

async function ask(
  folder: string,
  what: readonly string[],
): Promise<readonly string[] | undefined> {
  try {
    const context = { cwd: folder, withPersonalConfiguration: true, timeoutMs: 20_000 };
    const { stdout } = await runGit(["rev-parse", ...what], context);
    return stdout.toString("utf8").replace(/\n$/, "").split("\n");
  } catch (error) {
    if (!(error instanceof GitFailure) || error.kind !== "exit") throw error;
    const code = refusalIn(error.stderr, folder);
    if (code === undefined) return undefined;
    throw refuse(code, folder, error);
  }
}

function refusalIn(stderr: string, folder: string): RefusalCode | undefined {
  if (stderr.includes("cannot use bare repository")) {
    return folder.split(sep).includes(".git") ? "inside-git-directory" : "bare";
  }
  if (stderr.includes("dubious ownership")) return "foreign-owner";
  if (!stderr.includes("not a git repository")) return "corrupt";
  return hasGitAbove(folder) ? "corrupt" : undefined;
}

/** A `.git` that git does not recognise is a damaged repository. */
function hasGitAbove(folder: string): boolean {
  for (let place = folder; ; place = dirname(place)) {
    if (mayBeRepository(join(place, ".git"))) return true;
    if (dirname(place) === place) return false;
  }
}

/** An empty `.git` is no repository: a sandbox that was killed left it as a placeholder. */
function mayBeRepository(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory() !== true) return found !== undefined;
  try {
    return readdirSync(path).length > 0;
  } catch {
    return true;
  }
}

function gitDirectoryOf(toplevel: string): string | undefined {
  const entry = join(toplevel, ".git");
  try {
    const real = realpathSync.native(entry);
    const stats = lstatSync(real);
    if (stats.isDirectory()) return real;
    if (!stats.isFile() || stats.size > 4096) return undefined;
    const line = /^gitdir: (?<path>.+?)\n*$/s.exec(readFileSync(real, "utf8"))?.groups?.["path"];
    return line === undefined ? undefined : realpathSync.native(resolve(toplevel, line));
  } catch {
    return undefined;
  }
}

/**
 * A `.git` file can name any repository on the machine. That repository has to name this folder
 * too: a linked work tree by its `gitdir` file, a submodule by its configuration.
 */
async function knowsWorkTree(gitDirectory: string, toplevel: string): Promise<boolean> {
  const linked = readSmallFile(join(gitDirectory, "gitdir")).trim();
  if (linked !== "" && isSamePlace(resolve(gitDirectory, linked), join(toplevel, ".git"))) {
    return true;
  }
  const args = ["config", "--file", join(gitDirectory, "config"), "--get", "core.worktree"];
  const named = await askGit(args, { answers: [1], timeoutMs: 20_000 });
  return named !== "" && isSamePlace(resolve(gitDirectory, named), toplevel);
}

function isSamePlace(one: string, other: string): boolean {
  try {
    return realpathSync.native(one) === realpathSync.native(other);
  } catch {
    return false;
  }
}

const sentences: Partial<Record<RefusalCode, string>> = {
  bare: "is a bare repository and has no files to work on. Choose a checkout of it",
  "inside-git-directory": "lies inside a .git folder. Choose the folder that holds the files",
  "foreign-owner":
    'belongs to another user, and git does not trust it. Change its owner, or add it to your "safe.directory"',
  corrupt: "is in a repository that git cannot read. Run git fsck in it, repair it, and try again",
  "work-tree-elsewhere":
    "is in a repository whose configuration (core.worktree) points at another folder. Choose that one, or remove the setting",
  "foreign-git-directory":
    "has a .git file that names a repository elsewhere, and that one does not know this folder. Set core.worktree there to this folder if it is meant to be its work tree",
  "unusual-path": "is in a repository whose path has a line break in it. Rename that folder",
};

function refuse(code: RefusalCode, folder: string, cause?: unknown): RepositoryRefused {
  const sentence = `The workspace "${folder}" ${sentences[code] ?? "cannot be used"}.`;
  return new RepositoryRefused({ code, sentence }, { cause });
}

const maximumFolders = 32;
const maximumBytes = 65_536;

/**
 * The object folder of a repository and all that it borrows from, as one flat list: git follows
 * only five alternates in a chain, and a copy of a copy would exceed that.
 */
export function borrowedObjects(folder: string): readonly string[] {
  const found: string[] = [];
  const waiting = [folder];
  while (waiting.length > 0 && found.length < maximumFolders) {
    const next = realFolderSync(waiting.shift() ?? "");
    // The list is written to a file with one entry per line.
    if (next === undefined || found.includes(next) || next.includes("\n")) continue;
    found.push(next);
    for (const line of readAlternates(next)) {
      waiting.push(isAbsolute(line) ? line : join(next, line));
    }
  }
  return found;
}

function readAlternates(objects: string): readonly string[] {
  return readSmallFile(join(objects, "info", "alternates"))
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
}

/** The text of a regular file; "" when it is missing, a link, or suspiciously large. */
export function readSmallFile(path: string, maximum: number = maximumBytes): string {
  try {
    const stats = lstatSync(path);
    return stats.isFile() && stats.size <= maximum ? readFileSync(path, "utf8") : "";
  } catch {
    return "";
  }
}
