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
  /** How long the walk itself may work. Time in which the process did other work does not count. */
  readonly milliseconds: number;
}

/** Options for a sweep; without them only existing paths of a person are searched. */
interface WalkOptions {
  /** Folders that are not entered. */
  readonly left?: readonly string[];
  /**
   * A protected path that is not known is entered as well, since it may contain more. Absent: all
   * are known.
   */
  readonly isKnown?: (place: string) => boolean;
  /** Whether a folder of this user that is not readable may be made readable. Absent: none. */
  readonly mayOpen?: (folder: string) => boolean;
  readonly bounds?: WalkBounds;
}

export interface WalkFindings {
  /**
   * Protected files, folders and links; links with the name of a folder that contains protected
   * paths; and names with control characters for terminals.
   */
  readonly found: readonly string[];
  /** Folders that git treats as a repository although they are not called `.git`. */
  readonly repositories: readonly string[];
  /** UNIX sockets, served or not. */
  readonly sockets: readonly string[];
  /** Folders that were not read: beyond the bounds, or not readable. */
  readonly unseen: readonly string[];
  /** Unread folders that contain a folder whose name is not valid text. */
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
  /** Contains a folder whose name is not valid text, which can be neither entered nor mounted. */
  readonly isOdd: boolean;
}

interface Below {
  readonly name: string;
  readonly isFolder: boolean;
  readonly trail: Trail;
}

const usualBounds: WalkBounds = { folders: 100_000, milliseconds: 2000 };
const sliceMs = 10;

/** With a coarse clock two changes can have the same time; after this time none is missed. */
const settledMs = 2000;

/**
 * Searches whole trees for protected paths, level by level, and caches each folder: as long as its
 * change time is the same, which no program can set, one system call replaces reading it. Links are
 * not followed.
 */
export class ProtectedWalk {
  readonly #listings = new Map<string, Listing>();
  readonly #bounds: WalkBounds;
  readonly #clock: Clock;

  /** `clock` is compared with the times of files, so it is the system's clock. */
  constructor(bounds: WalkBounds = usualBounds, clock: Clock = systemClock) {
    this.#bounds = bounds;
    this.#clock = clock;
  }

  /** `root` is the workspace; the tops are inside it. */
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

/** A folder that can be listed but not entered hides the type of its entries. */
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
    const part = gitDirectoryName({ name, isFolder });
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

// O_PATH is not among Node's constants: it opens the name of a folder, even one whose mode
// forbids to open the folder.
const pathOnly = 0o10000000;

/**
 * Makes a folder of this user readable, enterable and writable: a command can change its mode to
 * hide its content. False if the mode cannot be changed. Follows no link.
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

/** The file at a path, even if the parent folder is not readable. */
export function statusAt(place: string): BigIntStats | undefined {
  const look = () => lstatSync(place, { throwIfNoEntry: false, bigint: true });
  try {
    return look();
  } catch (error) {
    if (!makeReadable(dirname(place))) throw error;
    return look();
  }
}
