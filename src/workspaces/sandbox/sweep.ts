import { isUtf8 } from "node:buffer";
import { randomBytes } from "node:crypto";
import { lstatSync, readdirSync, renameSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";
import { messageOf } from "../../ports/message-of.ts";
import { stripHidden } from "../../ports/visible-text.ts";
import type { WorkspaceBinding } from "../bind-workspace.ts";
import { openFolder } from "../open-file.ts";
import { foldedName, gitDirectoryName } from "../protected/protection.ts";
import { steersTerminal } from "../resolve-for-writing.ts";
import type { Boundary } from "../resolve-inside.ts";
import { makeReadable, type ProtectedWalk, statusAt, type WalkBounds } from "./protected-walk.ts";

/** A workspace in which commands ran. */
export type SweptPlace = Pick<WorkspaceBinding, "root" | "writeRoots" | "forbidden">;

/** What existed before the first of the commands. */
export interface Before {
  /** Protected paths with their inodes. */
  readonly places: ReadonlyMap<string, number>;
  /** Links that are not mounted, with a stamp that tells a replaced link. */
  readonly loose: ReadonlyMap<string, string>;
  /** Covered in every command: what exists there now was created by a person. */
  readonly covered: ReadonlySet<string>;
  /** Folders that were read-only as a whole. */
  readonly closed: readonly string[];
}

export interface Swept {
  readonly planted: readonly SetAside[];
  /** Folders that could not be read although commands could write there. */
  readonly unseen: readonly string[];
}

/** Whether every planted entry was renamed. */
export function isSettled(planted: readonly SetAside[]): boolean {
  return planted.every(({ now }) => now !== undefined);
}

/** Wider than before a command: what is not found here stays. */
const sweepBounds: WalkBounds = { folders: 2_000_000, milliseconds: 60_000 };

/** Folders with invalid names can be nested; each round finds those of one level. */
const mostRounds = 64;

/** Sets aside every protected path that did not exist before, or was replaced. */
export async function sweep(
  place: SweptPlace,
  walk: ProtectedWalk,
  before: Before,
  bounds: WalkBounds = sweepBounds,
): Promise<Swept> {
  const { root, writeRoots, forbidden = [] } = place;
  const isOpen = (folder: string) => !before.closed.some((above) => isBelow(folder, above));
  const planted: SetAside[] = [];
  const look = () =>
    walk.walk(root, writeRoots, {
      ...{ left: forbidden, bounds, mayOpen: isOpen },
      isKnown: (found) => existedBefore(before, found),
    });
  let seen = await look();
  for (let round = 0; round < mostRounds && seen.unreadable.some(isOpen); round += 1) {
    for (const folder of seen.unreadable.filter(isOpen)) {
      planted.push(...renameUnreadable(place, folder));
    }
    seen = await look();
  }
  const paths = [
    ...seen.repositories.map((found) => ({ found, act: setRepositoryAside })),
    ...seen.found.map((found) => ({ found, act: setAside })),
  ];
  // Deepest first: paths inside a renamed folder change. A `.git` is a repository under its new
  // name too, so its HEAD is set aside as well.
  for (const { found, act } of paths.sort((one, two) => two.found.length - one.found.length)) {
    if (existedBefore(before, found)) continue;
    const aside = act(place, found);
    if (aside !== undefined) planted.push(aside);
  }
  planted.push(...replacedLinks(place, before));
  return { planted: outermost(planted), unseen: seen.unseen.filter(isOpen) };
}

/** Links on the way to a protected path that were replaced: they may have another target. */
function replacedLinks(place: SweptPlace, { loose, places }: Before): readonly SetAside[] {
  return [...loose].flatMap(([link, stamp]) => {
    const isOnTheWay = !places.has(link) && statusAt(link) !== undefined;
    return isOnTheWay && stampOf(link) !== stamp ? (setAside(place, link) ?? []) : [];
  });
}

function existedBefore({ places, loose, covered }: Before, place: string): boolean {
  if (covered.has(place)) return true;
  // No program obeys an empty folder, but a terminal obeys its name.
  if (isEmptyFolder(place) && !steersTerminal(basename(place))) return true;
  const before = places.get(place);
  if (before === undefined) return false;
  const status = statusAt(place);
  const stamp = loose.get(place);
  if (stamp !== undefined) return status === undefined || stampOf(place) === stamp;
  if (status === undefined || Number(status.ino) === before) return true;
  // People save files by replacing them; a `.git` is never replaced as a whole.
  return foldedName(basename(place)) !== ".git" && !status.isSymbolicLink();
}

/** A file system can reuse the inode of a removed link, but not its change time. */
export function stampOf(link: string): string {
  const status = statusAt(link);
  return status === undefined ? "" : `${status.ino} ${status.ctimeNs}`;
}

/** A path that was moved with its parent needs no own sentence, unless it is still there. */
function outermost(planted: readonly SetAside[]): readonly SetAside[] {
  return planted.filter(({ place, now }, index) => {
    if (now === undefined) return true;
    return !planted.some((other, at) => isBelow(place, other.place) && at > index);
  });
}

export interface SetAside {
  readonly place: string;
  /** The new name of the entry; absent if it could not be renamed. */
  readonly now?: string;
  readonly problem?: string;
}

/**
 * Renames a path so that no program obeys it. Nothing is deleted, since a person may have created
 * it at this moment. The parent folder is opened first, because it may be a link now. Undefined
 * when the path is gone.
 */
function setAside(workspace: Boundary, place: string): SetAside | undefined {
  try {
    return rename(workspace, place);
  } catch (error) {
    if (isGone(place)) return undefined;
    return { place, problem: messageOf(error) };
  }
}

/**
 * Renames the HEAD of a folder that git treats as a repository: without it the folder is ordinary.
 */
function setRepositoryAside(workspace: Boundary, folder: string): SetAside | undefined {
  try {
    const name = readdirSync(folder, { withFileTypes: true }).find(
      (entry) => gitDirectoryName({ name: entry.name, isFolder: entry.isDirectory() }) === "HEAD",
    )?.name;
    const aside = name === undefined ? undefined : setAside(workspace, join(folder, name));
    return aside && { ...aside, place: folder };
  } catch (error) {
    return isGone(folder) ? undefined : { place: folder, problem: messageOf(error) };
  }
}

function rename(workspace: Boundary, place: string): SetAside {
  const folder = dirname(place);
  const name = basename(place);
  const now = asideName(name);
  const opened = openFolder(workspace, folder, place);
  try {
    renameSync(opened.entry(name), opened.entry(now));
  } catch (error) {
    // A command may have changed the mode of the folder to prevent this; a folder can be moved only
    // if it is itself writable.
    const isOpened = makeReadable(opened.path);
    makeReadable(place);
    if (!isOpened) throw error;
    renameSync(opened.entry(name), opened.entry(now));
  } finally {
    opened.close();
  }
  return { place, now: join(folder, now) };
}

/**
 * Renames folders whose names are not valid text: only then can they be read and mounted. Follows
 * no link.
 */
function renameUnreadable(workspace: Boundary, folder: string): readonly SetAside[] {
  makeReadable(folder);
  try {
    return renameAll(workspace, folder);
  } catch (error) {
    return isGone(folder) ? [] : [{ place: folder, problem: messageOf(error) }];
  }
}

function renameAll(workspace: Boundary, folder: string): readonly SetAside[] {
  const opened = openFolder(workspace, folder, folder);
  try {
    const entries = readdirSync(opened.here, { withFileTypes: true, encoding: "buffer" });
    return entries
      .filter((entry) => entry.isDirectory() && !isUtf8(entry.name))
      .map(({ name }) => {
        const now = asideName(name.toString("latin1").replace(/[^ -~]/g, "_"));
        renameSync(Buffer.concat([Buffer.from(`${opened.here}/`), name]), opened.entry(now));
        return { place: join(folder, name.toString("utf8")), now: join(folder, now) };
      });
  } finally {
    opened.close();
  }
}

/** Short and readable, whatever the old name was. */
function asideName(name: string): string {
  const visible = stripHidden(name.slice(0, 48)).replaceAll(/[\t\n]/g, "_");
  return `${visible}.set-aside-${randomBytes(4).toString("hex")}`;
}

function isGone(place: string): boolean {
  try {
    return lstatSync(place, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}

/** No program obeys an empty folder; placeholders are empty folders. */
function isEmptyFolder(place: string): boolean {
  try {
    return lstatSync(place).isDirectory() && readdirSync(place).length === 0;
  } catch {
    return false;
  }
}
