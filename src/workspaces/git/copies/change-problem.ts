import { existsSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { namesOf } from "../git-failure.ts";
import { pathInWorkspace, shownRaw, type TreeChange } from "../read-git.ts";

/** Why a change of a child cannot be merged. */
export type ChangeProblemKind =
  | "nested-repository"
  | "embedded-repository"
  | "submodule"
  | "special-file"
  | "escaping-link"
  | "control-name"
  | "control-link"
  | "unreadable-name"
  | "hidden-name"
  | "case-collision"
  | "outside-workspace"
  | "too-large"
  | "too-many";

export interface ChangeProblem {
  readonly kind: ChangeProblemKind;
  /** Relative to the workspace, as its tools name them. */
  readonly paths: readonly string[];
  readonly sentence: string;
}

const sentences: Record<ChangeProblemKind, (names: string) => string> = {
  "nested-repository": (names) =>
    `${names} has a .git of its own. Remove it, so that its files can be merged.`,
  "embedded-repository": (names) =>
    `${names} looks like a repository to git (HEAD, objects and refs), and git obeys the configuration in it. Use other names.`,
  submodule: (names) => `${names} is a submodule, and nothing can be changed in it from outside.`,
  "special-file": (names) => `${names} is a pipe, a socket or a device, and no file.`,
  "escaping-link": (names) => `${names} is a symbolic link to a place outside the workspace.`,
  "control-name": (names) => `${names} is a name that git keeps for itself, in some spelling.`,
  "control-link": (names) => `${names} controls git and must be a file, not a symbolic link.`,
  "unreadable-name": (names) => `${names} is a name that is not valid UTF-8.`,
  "hidden-name": (names) =>
    `${names} has a control character or another hidden character in its name. Rename it.`,
  "case-collision": (names) => `${names}: some file systems cannot tell these names apart.`,
  "outside-workspace": (names) => `${names} lies outside the workspace.`,
  "too-large": (names) => `${names} is larger than what can be merged.`,
  "too-many": (names) => `More has changed than can be merged: ${names}.`,
};

export function changeProblem(kind: ChangeProblemKind, paths: readonly string[]): ChangeProblem {
  return { kind, paths, sentence: sentences[kind](namesOf(paths)) };
}

/** One form for all names that some file systems cannot tell apart. */
export function foldName(path: string): string {
  return path.normalize("NFC").toLowerCase();
}

/**
 * Groups of files or folders whose paths differ only in case or Unicode form. With `among`, only
 * groups that contain one of those paths.
 */
export function findCaseCollisions(
  paths: Iterable<string>,
  among?: ReadonlySet<string>,
): readonly (readonly string[])[] {
  const spellings = new Map<string, Set<string>>();
  const seenFolders = new Set<string>();
  const add = (path: string): void => {
    const folded = foldName(path);
    const known = spellings.get(folded);
    if (known === undefined) spellings.set(folded, new Set([path]));
    else known.add(path);
  };
  for (const path of paths) {
    add(path);
    let folder = dirname(path);
    while (folder !== "." && !seenFolders.has(folder)) {
      seenFolders.add(folder);
      add(folder);
      folder = dirname(folder);
    }
  }
  const groups = [...spellings.values()].filter((group) => group.size > 1);
  const wanted = among === undefined ? undefined : withFolders(among);
  return groups
    .filter((group) => wanted === undefined || [...group].some((path) => wanted.has(path)))
    .map((group) => [...group].sort());
}

function withFolders(paths: ReadonlySet<string>): ReadonlySet<string> {
  const all = new Set<string>();
  for (const path of paths) {
    for (let place = path; place !== "." && !all.has(place); place = dirname(place)) all.add(place);
  }
  return all;
}

/** Whether the folder's file system treats `A` and `a` as one name. Creates nothing. */
export function ignoresCase(folder: string): boolean {
  const name = basename(folder);
  const other = name === name.toUpperCase() ? name.toLowerCase() : name.toUpperCase();
  const twin = join(dirname(folder), other);
  if (other === name || !existsSync(folder) || !existsSync(twin)) return false;
  return statSync(twin).ino === statSync(folder).ino;
}

/** The entries by which git recognizes a bare repository, in a folder without `.git`. */
interface Signs {
  head: boolean;
  objects: boolean;
  refs: boolean;
  elsewhere: boolean;
  isChanged: boolean;
}

/**
 * Changed folders that git would use as a bare repository: git would obey the configuration in
 * them, which can name programs.
 */
function findEmbeddedRepositories(
  all: Iterable<string>,
  changed: ReadonlySet<string>,
): readonly string[] {
  const folders = new Map<string, Signs>();
  for (const path of all) {
    const isChanged = changed.has(path);
    const names = foldName(path).split("/");
    for (const [depth, name] of names.entries()) {
      const sign = signOf(name, depth === names.length - 1);
      if (sign === undefined) continue;
      // The folder's own spelling; git finds its names in any case on some file systems.
      const folder = path.split("/").slice(0, depth).join("/");
      const signs = folders.get(folder) ?? { ...none };
      if (sign !== "setting") signs[sign] = true;
      signs.isChanged ||= isChanged;
      folders.set(folder, signs);
    }
  }
  return [...folders]
    .filter(([, { isChanged, head, objects, refs, elsewhere }]) => {
      return isChanged && head && (elsewhere || (objects && refs));
    })
    .map(([folder]) => (folder === "" ? "." : folder));
}

const none: Signs = {
  head: false,
  objects: false,
  refs: false,
  elsewhere: false,
  isChanged: false,
};

/** A folder, or a link to one, can be either; `HEAD` and `commondir` are files. */
function signOf(
  name: string,
  isLast: boolean,
): keyof Omit<Signs, "isChanged"> | "setting" | undefined {
  if (name === "objects" || name === "refs") return name;
  if (name === "hooks") return "setting";
  if (!isLast) return undefined;
  if (name === "head") return "head";
  if (name === "commondir") return "elsewhere";
  return name === "config" || name === "config.worktree" ? "setting" : undefined;
}

/** Bare repositories in the whole tree that contain changed files. */
export function embeddedProblem(
  prefix: string,
  all: readonly string[],
  present: readonly TreeChange[],
): ChangeProblem | undefined {
  const changed = new Set(present.map(({ path }) => shownRaw(path)));
  const folders = findEmbeddedRepositories(all, changed);
  if (folders.length === 0) return undefined;
  return changeProblem(
    "embedded-repository",
    folders.map((folder) => pathInWorkspace(prefix, folder) || "."),
  );
}
