import { lstatSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isBelow } from "../../../contracts/write-roots.ts";
import { linksBehind, linkTargetOf } from "../../protected/linked-places.ts";
import { enclosePlaces } from "./enclose-places.ts";
import { findDotGit, gitDirectoriesOf } from "./git-directories.ts";
import type { Gitlinks } from "./gitlinks.ts";
import { mustBeMounted } from "./must-be-mounted.ts";
import type { WalkFindings } from "./protected-walk.ts";

/** What is to be kept from a command: exact places, and folders that are closed as a whole. */
export interface NestedPlaces {
  readonly places: readonly string[];
  readonly closed: readonly string[];
  /** The folders in which git looks for another repository and finds none; some of `places`. */
  readonly links: readonly string[];
  /** What goes through a link and so cannot be mounted: it is compared when a command has ended. */
  readonly loose: readonly string[];
}

// Every mount and every index takes its time.
const mostPlaces = 128;
const mostRepositories = 64;
const mostClosed = 32;

/**
 * Where there is too much to protect it one by one, where a link is in the way, or where nobody
 * could look, the folder around is closed.
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
  // Nobody misses a right in an empty folder.
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

/** Without a repository in them: of the one around the root, and of every one below. */
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
      // Where there is one, that is guarded. An empty one in its place would make git give up.
      if (link !== root && isBelow(link, root) && !known.has(join(link, ".git"))) places.push(link);
    }
  }
  return places;
}

/** A path that the system takes: a tree can be deeper than that, and then the folder above is closed. */
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
 * A link can be neither covered nor pinned, and a name that is no text cannot be given to anybody:
 * then the folder around. A link at the root itself is refused where the mounts are planned.
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
