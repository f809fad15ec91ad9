import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  statSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";
import { CallDenied } from "../../ports/mandate-error.ts";
import { GitFailure } from "../git/git-failure.ts";
import { runGit } from "../git/run-git.ts";
import { linksBehind, linkTargetOf } from "../protected/protection.ts";
import { mustBeMounted } from "./guarded-places.ts";
import type { WalkFindings } from "./protected-walk.ts";

/** What a command must not change: single paths, and folders that are read-only as a whole. */
interface NestedPlaces {
  readonly places: readonly string[];
  readonly closed: readonly string[];
  /** Folders in which git looks for another repository and finds none; a part of `places`. */
  readonly links: readonly string[];
  /** Paths behind a link, which cannot be mounted: they are compared when a command has ended. */
  readonly loose: readonly string[];
}

// Every mount and every index takes time.
const mostPlaces = 128;
const mostRepositories = 64;
const mostClosed = 32;

/**
 * The paths to protect. If there are too many, if a link is on the way, or if a folder could not be
 * read, the folder around is made read-only.
 */
export async function guardsOf(
  root: string,
  tops: readonly string[],
  { found, repositories, unseen }: WalkFindings,
  links: Gitlinks,
): Promise<NestedPlaces> {
  const dotGits = found.filter((place) => basename(place) === ".git");
  const asked = dotGits.slice(0, mostRepositories);
  const followed = await findGitlinks(root, asked, links);
  const elsewhere = [join(root, ".git"), ...asked].flatMap(gitDirectoriesOf);
  const inside = elsewhere.filter((place) => place !== root && isBelow(place, root));
  const exact = new Set<string>();
  const loose: string[] = [];
  const beyond = [...unseen, ...dotGits.slice(mostRepositories).map(dirname)];
  const around = new Set(beyond.map(mountable));
  // An empty folder needs no write access.
  for (const link of followed) if (isUsed(link)) around.add(link);
  for (const place of found) {
    if (!isLink(place) || mustBeMounted(place)) continue;
    loose.push(place, ...linksBehind(place).filter((link) => isBelow(link, root)));
    const target = linkTargetOf(place);
    if (target !== root && isBelow(target, root)) exact.add(target);
  }
  const mounted = found.filter((place) => !loose.includes(place));
  for (const place of [...mounted, ...repositories, ...followed, ...inside]) {
    const nearest = withoutLinks(root, place);
    if (nearest !== place) around.add(nearest);
    else if (!around.has(place)) exact.add(place);
  }
  const closed = enclosePlaces([...around], tops, mostClosed);
  const open = [...exact].filter((place) => !closed.some((above) => isBelow(place, above)));
  const places = enclosePlaces(open, tops, mostPlaces);
  return {
    places: places.filter((place) => exact.has(place)),
    closed: [...closed, ...places.filter((place) => !exact.has(place))],
    links: followed,
    loose,
  };
}

/**
 * The folders in which git looks for a repository and finds none, in the repository around the root
 * and in those below it.
 */
async function findGitlinks(
  root: string,
  nested: readonly string[],
  links: Gitlinks,
): Promise<readonly string[]> {
  const around = findDotGit(root);
  const known = new Set(nested);
  const places: string[] = [];
  for (const dotGit of new Set(around === undefined ? nested : [around, ...nested])) {
    const [directory] = gitDirectoriesOf(dotGit);
    if (directory === undefined) continue;
    for (const link of await links.of(dotGit, directory)) {
      // An existing repository is guarded. An empty placeholder in its place would make git fail.
      if (link !== root && isBelow(link, root) && !known.has(join(link, ".git"))) places.push(link);
    }
  }
  return places;
}

/**
 * The nearest path that is short enough to mount; a tree can be deeper, and then a parent is used.
 */
function mountable(place: string): string {
  return place.length > longestPath ? mountable(dirname(place)) : place;
}

const longestPath = 3500;

function isLink(place: string): boolean {
  return lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

function isUsed(folder: string): boolean {
  try {
    return readdirSync(folder).length > 0;
  } catch {
    return false;
  }
}

/**
 * A link can be neither covered nor pinned, and a name that is not valid text cannot be passed to
 * bubblewrap: then the parent folder is used. A link at the root itself is refused when the mounts
 * are planned.
 */
function withoutLinks(root: string, place: string): string {
  let at = root;
  for (const name of place.slice(root.length + 1).split("/")) {
    const next = join(at, name);
    const status = lstatSync(next, { throwIfNoEntry: false });
    const isLinked = status?.isSymbolicLink() === true;
    if (name.includes("\ufffd") || (isLinked && at !== root)) return at;
    if (status?.isDirectory() !== true) return place;
    at = next;
  }
  return place;
}

const longestPointer = 4096 + 64;

/**
 * The folders that git uses for a `.git`: the folder itself, or the one that it points to, as in a
 * submodule, and the folder shared with other working trees. Real paths; the first has the index.
 * Empty if nothing exists.
 */
function gitDirectoriesOf(dotGit: string): readonly string[] {
  const own = gitDirectoryOf(dotGit);
  if (own === undefined) return [];
  const shared = readPointer(join(own, "commondir"));
  const real = shared === undefined ? undefined : realpathOf(resolve(own, shared.trim()));
  return real === undefined || real === own ? [own] : [own, real];
}

/** The nearest `.git` at or above a folder; undefined: the folder is in no repository. */
function findDotGit(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    const dotGit = join(at, ".git");
    if (lstatSync(dotGit, { throwIfNoEntry: false }) !== undefined) return dotGit;
    if (dirname(at) === at) return undefined;
  }
}

function gitDirectoryOf(dotGit: string): string | undefined {
  const place = realpathOf(dotGit);
  if (place === undefined) return undefined;
  if (lstatSync(place, { throwIfNoEntry: false })?.isDirectory() === true) return place;
  const pointer = /^gitdir: ([^\0]+?)[\r\n]*$/.exec(readPointer(place) ?? "")?.[1];
  return pointer === undefined ? undefined : realpathOf(resolve(dirname(place), pointer));
}

/** Never blocks on a pipe, and reads at most the length of a path. */
function readPointer(file: string): string | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    if (!fstatSync(descriptor).isFile()) return undefined;
    const buffer = Buffer.alloc(longestPointer);
    return buffer.toString("utf8", 0, readSync(descriptor, buffer, 0, longestPointer, 0));
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function realpathOf(place: string): string | undefined {
  try {
    return realpathSync(place);
  } catch {
    return undefined;
  }
}

interface Known {
  readonly state: string;
  readonly links: readonly string[];
}

/**
 * The folders that an index names as other repositories. Git enters each of them by itself, even on
 * `git status`, and obeys the `.git` that it finds there. Cached as long as the index is the same
 * file.
 */
export class Gitlinks {
  readonly #known = new Map<string, Known>();

  /** Absolute paths below the folder that has the `.git`. */
  async of(dotGit: string, gitDirectory: string): Promise<readonly string[]> {
    const state = stateOf(join(gitDirectory, "index"));
    if (state === undefined) return [];
    const known = this.#known.get(dotGit);
    if (known?.state === state) return known.links;
    const links = await readGitlinks(dirname(dotGit), gitDirectory);
    this.#known.set(dotGit, { state, links });
    return links;
  }
}

function stateOf(file: string): string | undefined {
  const status = statSync(file, { throwIfNoEntry: false, bigint: true });
  return status && [status.dev, status.ino, status.size, status.mtimeNs, status.ctimeNs].join(" ");
}

async function readGitlinks(workTree: string, gitDirectory: string): Promise<readonly string[]> {
  try {
    const { stdout } = await runGit(["ls-files", "--stage", "-z", "--full-name"], {
      ...{ gitDirectory, workTree, cwd: workTree, timeoutMs: 10_000 },
      maximumBytes: 256 * 1024 * 1024,
    });
    const links = new Set<string>();
    for (let at = 0; at < stdout.length; ) {
      const end = stdout.indexOf(0, at);
      const isLink = stdout.toString("latin1", at, at + 7) === "160000 ";
      if (isLink) links.add(pathOf(workTree, stdout.toString("utf8", at, end)));
      at = end < 0 ? stdout.length : end + 1;
    }
    return [...links];
  } catch (error) {
    // If git cannot read the index, no git follows its entries.
    const kind = error instanceof GitFailure ? error.kind : undefined;
    if (kind === "missing" || kind === "exit") return [];
    throw new CallDenied(
      "workspace_unknown",
      `The repositories that git follows in "${workTree}" could not be listed in time, so they cannot be ` +
        "protected from a command. Try again, or work without shell.",
      { cause: error },
    );
  }
}

function pathOf(workTree: string, entry: string): string {
  return join(workTree, entry.slice(entry.indexOf("\t") + 1));
}

/**
 * At most so many paths that contain all the given ones: if there are more, the deepest ones are
 * replaced by their parent folders, up to the tops.
 */
export function enclosePlaces(
  places: readonly string[],
  tops: readonly string[],
  maximum: number,
): readonly string[] {
  let enclosing = new Set(places);
  while (enclosing.size > maximum) {
    const deepest = Math.max(...sizesOf(enclosing, tops));
    if (deepest === 0) break;
    const raised = [...enclosing].map((place) =>
      depthOf(place, tops) === deepest ? dirname(place) : place,
    );
    enclosing = new Set(raised);
  }
  return withoutNested([...enclosing]);
}

/** The paths that are inside no other one. */
function withoutNested(places: readonly string[]): readonly string[] {
  const kept: string[] = [];
  for (const place of [...places].sort((left, right) => left.length - right.length)) {
    if (!kept.some((above) => isBelow(place, above))) kept.push(place);
  }
  return kept;
}

function sizesOf(places: ReadonlySet<string>, tops: readonly string[]): readonly number[] {
  return [...new Set([...places].map((place) => depthOf(place, tops)))];
}

/** How many folders below the nearest top; a top itself cannot be raised. */
function depthOf(place: string, tops: readonly string[]): number {
  const top = tops.find((folder) => isBelow(place, folder));
  if (top === undefined || top === place) return 0;
  return place.slice(top.length).split("/").length - 1;
}
