import {
  type BigIntStats,
  chmodSync,
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  type Stats,
} from "node:fs";
import { dirname } from "node:path";
import { type Clock, systemClock } from "../../ports/clock.ts";
import {
  firstBelow,
  gitDirectoryName,
  isGitDirectory,
  stepInto,
  type Trail,
  trailOf,
} from "../protected/protection.ts";
import { steersTerminal } from "../resolve-for-writing.ts";

export interface WalkBounds {
  readonly folders: number;
  /** Of our own work; the time that others use in between does not count. */
  readonly milliseconds: number;
}

/** What may be done on the way; without it only what a person has there is looked for. */
interface WalkOptions {
  /** Folders that are not looked into. */
  readonly left?: readonly string[];
  /** What is protected and not known is entered too: it may hold more. Absent: all is known. */
  readonly isKnown?: (place: string) => boolean;
  /** Whether a folder of ours that is closed to us may be opened by its mode. Absent: none. */
  readonly mayOpen?: (folder: string) => boolean;
  readonly bounds?: WalkBounds;
}

export interface WalkFindings {
  /**
   * Files, folders and links that the list protects, links in the place of a folder with such, and
   * names that a terminal obeys.
   */
  readonly found: readonly string[];
  /** Folders that git takes for a repository although they are not called `.git`. */
  readonly repositories: readonly string[];
  /** UNIX sockets, served or not. */
  readonly sockets: readonly string[];
  /** Folders that were not looked into: beyond the bounds, or closed to us. */
  readonly unseen: readonly string[];
  /** Those of them that hold a folder whose name is no text. */
  readonly unreadable: readonly string[];
}

interface Listing {
  readonly inode: number;
  readonly changed: number;
  readonly readAt: number;
  readonly folders: readonly Below[];
  readonly found: readonly Below[];
  readonly sockets: readonly string[];
  readonly isRepository: boolean;
  /** It has a folder whose name is no text, and that can so be neither entered nor mounted. */
  readonly isOdd: boolean;
}

interface Below {
  readonly name: string;
  readonly isFolder: boolean;
  readonly trail: Trail;
}

const usualBounds: WalkBounds = { folders: 100_000, milliseconds: 2000 };
const sliceMs = 10;

/** A clock that ticks coarsely gives two changes one time; after so long nothing is missed. */
const settledMs = 2000;

/**
 * Looks for what is protected in whole trees, level by level, and remembers each folder: as long as
 * the time of its last change stands, which no program can set, one question replaces reading it. Links
 * are not followed.
 */
export class ProtectedWalk {
  readonly #listings = new Map<string, Listing>();
  readonly #bounds: WalkBounds;
  readonly #clock: Clock;

  /** `clock` is compared with the times of files, so the runtime's own clock is not given here. */
  constructor(bounds: WalkBounds = usualBounds, clock: Clock = systemClock) {
    this.#bounds = bounds;
    this.#clock = clock;
  }

  /** `root` is the workspace; the tops lie in it. */
  async walk(
    root: string,
    tops: readonly string[],
    options: WalkOptions = {},
  ): Promise<WalkFindings> {
    const {
      left = [],
      isKnown = () => true,
      mayOpen = () => false,
      bounds = this.#bounds,
    } = options;
    const leftOut = new Set(left);
    const queue = tops.map((place) => ({ place, trail: trailBetween(root, place) }));
    const found: string[] = [];
    const repositories: string[] = [];
    const sockets: string[] = [];
    const unseen: string[] = [];
    const unreadable: string[] = [];
    let spent = 0;
    let since = performance.now();
    for (let index = 0; index < queue.length; index += 1) {
      const now = performance.now();
      if (index >= bounds.folders || spent + now - since > bounds.milliseconds) {
        unseen.push(...queue.slice(index).map(({ place }) => place));
        return { found, repositories, sockets, unseen, unreadable };
      }
      if (now - since > sliceMs) {
        spent += now - since;
        await new Promise(setImmediate);
        since = performance.now();
      }
      const { place: folder, trail } = queue[index] ?? { place: "", trail: [] };
      const listing = this.#list(folder, trail, mayOpen);
      if (listing === "closed") unseen.push(folder);
      if (typeof listing === "string") continue;
      if (listing.isOdd) {
        unseen.push(folder);
        unreadable.push(folder);
      }
      for (const name of listing.sockets) sockets.push(`${folder}/${name}`);
      if (listing.isRepository) {
        repositories.push(folder);
        if (isKnown(folder)) continue;
      }
      for (const below of listing.found) {
        const place = `${folder}/${below.name}`;
        found.push(place);
        if (below.isFolder && !isKnown(place)) queue.push({ place, trail: below.trail });
      }
      for (const below of listing.folders) {
        const place = `${folder}/${below.name}`;
        if (!leftOut.has(place)) queue.push({ place, trail: below.trail });
      }
    }
    this.#forgetAllBut(queue.map(({ place }) => place));
    return { found, repositories, sockets, unseen, unreadable };
  }

  #list(
    folder: string,
    trail: Trail,
    mayOpen: (folder: string) => boolean,
  ): Listing | "closed" | "gone" {
    const status = statusOf(folder, mayOpen);
    if (status === "closed") return "closed";
    if (status?.isDirectory() !== true) return "gone";
    const known = this.#listings.get(folder);
    if (known !== undefined && isStill(known, status)) return known;
    const readAt = this.#clock.now();
    const entries = entriesOf(folder, mayOpen);
    if (typeof entries === "string") return entries;
    const listing = { ...listingOf(entries, trail), readAt, inode: status.ino };
    const whole = { ...listing, changed: status.ctimeMs };
    this.#listings.set(folder, whole);
    return whole;
  }

  #forgetAllBut(folders: readonly string[]): void {
    if (this.#listings.size <= folders.length) return;
    const current = new Set(folders);
    for (const folder of this.#listings.keys()) {
      if (!current.has(folder)) this.#listings.delete(folder);
    }
  }
}

function trailBetween(root: string, top: string): Trail {
  let trail = trailOf(root);
  if (top === root) return trail;
  for (const name of top.slice(root.length + 1).split("/")) ({ trail } = stepInto(trail, name));
  return trail;
}

function isStill(known: Listing, { ctimeMs, ino }: Stats): boolean {
  const isSettled = known.readAt - known.changed > settledMs;
  return isSettled && known.inode === ino && known.changed === ctimeMs;
}

/** A folder that can be listed and not entered hides what its folders are. */
function statusOf(
  folder: string,
  mayOpen: (folder: string) => boolean,
): Stats | "closed" | undefined {
  try {
    return lstatSync(folder, { throwIfNoEntry: false });
  } catch {
    const around = dirname(folder);
    if (!mayOpen(around) || !makeReadable(around)) return "closed";
    return statusOf(folder, () => false);
  }
}

function entriesOf(
  folder: string,
  mayOpen: (folder: string) => boolean,
): readonly Dirent[] | "closed" | "gone" {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return "gone";
    if (!mayOpen(folder) || !makeReadable(folder)) return "closed";
    return entriesOf(folder, () => false);
  }
}

function listingOf(
  entries: readonly Dirent[],
  trail: Trail,
): Pick<Listing, "folders" | "found" | "sockets" | "isOdd" | "isRepository"> {
  const found: Below[] = [];
  const folders: Below[] = [];
  const sockets: string[] = [];
  const parts = new Set<string>();
  let isOdd = false;
  for (const entry of entries) {
    const { name } = entry;
    const isFolder = entry.isDirectory();
    if (entry.isSocket()) sockets.push(name);
    const part = gitDirectoryName(name, isFolder);
    if (part !== undefined) parts.add(part);
    const step = stepInto(trail, name);
    const below = { name, isFolder, trail: step.trail };
    const isWay = entry.isSymbolicLink() && firstBelow(step.trail) !== undefined;
    if (step.protection !== undefined || isWay || steersTerminal(name)) found.push(below);
    else if (isFolder && name.includes("\ufffd")) isOdd = true;
    else if (isFolder) folders.push(below);
  }
  return {
    found,
    folders,
    sockets,
    isOdd,
    isRepository: isGitDirectory((name) => parts.has(name)),
  };
}

// Not among Node's constants: names a folder without opening it, which its mode may forbid.
const pathOnly = 0o10000000;

/**
 * Lets us read, enter and change a folder of ours whose mode forbids it: a command can close a
 * folder to hide what is in it. False where the mode cannot be changed. Follows no link.
 */
export function makeReadable(folder: string): boolean {
  const { O_DIRECTORY = 0, O_NOFOLLOW = 0 } = constants;
  if (process.platform !== "linux") return false;
  let descriptor: number | undefined;
  try {
    descriptor = openSync(folder, pathOnly | O_DIRECTORY | O_NOFOLLOW);
    const { mode, uid } = fstatSync(descriptor);
    if (uid !== process.getuid?.()) return false;
    chmodSync(`/proc/self/fd/${descriptor}`, (mode & 0o7777) | 0o700);
    return true;
  } catch {
    return false;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** What is at a place, although the folder around it may have been closed. */
export function statusAt(place: string): BigIntStats | undefined {
  const look = () => lstatSync(place, { throwIfNoEntry: false, bigint: true });
  try {
    return look();
  } catch (error) {
    if (!makeReadable(dirname(place))) throw error;
    return look();
  }
}
