import { readdirSync, readlinkSync } from "node:fs";
import { basename, join, posix } from "node:path";
import { isBelow } from "../../../contracts/write-roots.ts";
import { foldedName, linkedWays, protectionOf } from "../../protected/protection.ts";
import { hidesInName } from "../../resolve-for-writing.ts";
import { nearestRealPath } from "../../resolve-inside.ts";
import { type Differences, entryAt } from "../compare-files.ts";
import { pathInWorkspace, type RawPath, rawPlace, shownRaw, textOf } from "../read-git.ts";
import {
  type ChangeProblem,
  type ChangeProblemKind,
  changeProblem,
  findCaseCollisions,
  foldName,
} from "./change-problem.ts";
import { type CopyLimits, readCopyRecord, type WorkingCopy } from "./working-copy.ts";

interface JudgedChanges {
  /** Paths that can be committed; the problems name all others. */
  readonly accepted: readonly RawPath[];
  readonly problems: readonly ChangeProblem[];
}

/** Judges the files that a child left in its copy. They are untrusted input. */
export function judgeChanges(
  copy: {
    readonly folder: string;
    readonly prefix: string;
    readonly submodules: readonly RawPath[];
    readonly limits: CopyLimits;
  },
  differences: Differences,
): JudgedChanges {
  const found = new Map<ChangeProblemKind, string[]>();
  const note = (kind: ChangeProblemKind, path: RawPath): void => {
    const paths = found.get(kind) ?? [];
    if (paths.length === 0) found.set(kind, paths);
    paths.push(pathInWorkspace(copy.prefix, shownRaw(path)));
  };
  const submodules = new Set(copy.submodules);
  for (const path of differences.nested) {
    note(submodules.has(path) ? "submodule" : "nested-repository", path);
  }
  for (const path of differences.special) note("special-file", path);
  for (const path of copy.submodules) if (!isEmpty(copy.folder, path)) note("submodule", path);

  const count = differences.present.length + differences.removed.length;
  const bytes = differences.present.reduce((sum, { bytes: size }) => sum + size, 0);
  // Checked first, so that too many files are not judged one by one.
  if (count > copy.limits.maximumFiles || bytes > copy.limits.maximumBytes) {
    found.set("too-many", [`${count} files`, `${Math.round(bytes / 1024 / 1024)} MB`]);
    return { accepted: [], problems: listOf(found) };
  }
  const accepted: RawPath[] = [];
  for (const { path, isLink, bytes: size } of differences.present) {
    const problem = problemOf(copy, path, isLink, size);
    if (problem === undefined) accepted.push(path);
    else note(problem, path);
  }
  return { accepted, problems: listOf(found) };
}

function listOf(found: ReadonlyMap<ChangeProblemKind, string[]>): readonly ChangeProblem[] {
  return [...found].map(([kind, paths]) => changeProblem(kind, [...new Set(paths)].sort()));
}

function problemOf(
  copy: { readonly folder: string; readonly prefix: string; readonly limits: CopyLimits },
  path: RawPath,
  isLink: boolean,
  bytes: number,
): ChangeProblemKind | undefined {
  const text = textOf(path);
  if (text === null) return "unreadable-name";
  if (namesGitDirectory(text)) return "control-name";
  if (hidesInName(text)) return "hidden-name";
  if (bytes > copy.limits.maximumFileBytes) return "too-large";
  if (!isLink) return undefined;
  if (isControlFile(text)) return "control-link";
  const target = readlinkSync(rawPlace(copy.folder, path), "utf8");
  return leadsOutside(copy.prefix, text, target) ? "escaping-link" : undefined;
}

/**
 * Judges a link by its text, since its target differs between machines. `..` is allowed at the
 * beginning, where it leaves real folders. After a name it could leave another link, so that `a/..`
 * is not the folder that it seems to be.
 */
export function leadsOutside(prefix: string, path: string, target: string): boolean {
  if (target.startsWith("/") || target.includes("\\")) return true;
  const steps = target.split("/").filter((step) => step !== "" && step !== ".");
  const down = steps.findIndex((step) => step !== "..");
  const ups = down < 0 ? steps.length : down;
  if (steps.slice(ups).includes("..")) return true;
  const folders = posix.dirname(path) === "." ? [] : posix.dirname(path).split("/");
  const inside = prefix === "" ? [] : prefix.split("/");
  const end = [...folders.slice(0, folders.length - ups), ...steps.slice(ups)];
  const stays = ups <= folders.length && inside.every((name, index) => end[index] === name);
  return !stays || namesGitDirectory(end.join("/"));
}

function isEmpty(folder: string, path: RawPath): boolean {
  const place = rawPlace(folder, path);
  const stats = entryAt(place);
  // A missing submodule folder is no change either.
  if (stats === undefined) return true;
  return stats.isDirectory() && readdirSync(place).length === 0;
}

/** New paths that collide with other paths on some file systems. */
export function collisionProblem(
  prefix: string,
  all: Iterable<string>,
  added: ReadonlySet<string>,
): ChangeProblem | undefined {
  const paths = findCaseCollisions(all, added).flat();
  if (paths.length === 0) return undefined;
  return changeProblem(
    "case-collision",
    paths.map((path) => pathInWorkspace(prefix, path)),
  );
}

/**
 * Whether a file system could treat a part of the path as `.git`: by case, short name or stream.
 */
function namesGitDirectory(path: string): boolean {
  return path.split(/[/\\]/).some((part) => [".git", "git~1"].includes(foldedName(part)));
}

const controlFiles = [".gitattributes", ".gitmodules", ".gitignore", ".mailmap"];

/** Files that git obeys: their content may change, but they must not become links. */
function isControlFile(path: string): boolean {
  return controlFiles.includes(foldedName(path.slice(path.lastIndexOf("/") + 1)));
}

/**
 * The changed paths that agents cannot write: protected paths, and the absolute paths in `guarded`,
 * which the next start reads. A parent of such a path counts as well, since a link there would
 * change the target. Names are compared without case, as some file systems do.
 */
export function guardedChanges(
  copy: WorkingCopy,
  paths: readonly string[],
  guarded: readonly string[],
  isProtected: IsProtected = isOnTheList,
): readonly string[] {
  const root = placeOf(copy);
  const at = foldName(root);
  // A replay uses the list of its recording and does not read the current folder.
  const linked = isProtected === isOnTheList ? linkedWays(root) : [];
  const all = [...guarded, ...linked].flatMap((place) => [place, realPathOf(place)]);
  const places = new Set([...all, ...linked].map(foldName));
  return paths.filter((path) => {
    if (isProtected(root, path)) return true;
    const changed = join(at, foldName(path));
    return [...places].some((place) => isBelow(changed, place) || isBelow(place, changed));
  });
}

/** Whether agents cannot write a path below the root of a workspace. */
export type IsProtected = (root: string, path: string) => boolean;

const isOnTheList: IsProtected = (root, path) => protectionOf(root, path) !== undefined;

/** The changed paths that are below none of the write roots of a contract. */
export function changesOutside(
  copy: WorkingCopy,
  paths: readonly string[],
  writeRoots: readonly string[],
): readonly string[] {
  const at = placeOf(copy);
  return paths.filter((path) => !writeRoots.some((root) => isBelow(join(at, path), root)));
}

/** The workspace that the person knows, even if the copy was made from another copy. */
function placeOf({ home, source }: WorkingCopy): string {
  return join(standsFor(home, source), source.prefix);
}

function standsFor(home: string, { kind, toplevel }: WorkingCopy["source"]): string {
  const outer = kind === "copy" ? readCopyRecord(home, basename(toplevel)) : undefined;
  return outer === undefined ? toplevel : standsFor(home, outer.source);
}

function realPathOf(place: string): string {
  try {
    return nearestRealPath(place).path;
  } catch {
    return place;
  }
}
