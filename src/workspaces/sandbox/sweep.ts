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

/** Where commands ran. */
export type SweptPlace = Pick<WorkspaceBinding, "root" | "writeRoots" | "forbidden">;

/** What was there before the first of the commands began. */
export interface Before {
  /** What is protected, with its inode. */
  readonly places: ReadonlyMap<string, number>;
  /** Links that no mount holds, with what tells one from another in its place. */
  readonly loose: ReadonlyMap<string, string>;
  /** Covered in every command: a person put there what is there now. */
  readonly covered: ReadonlySet<string>;
  /** Folders that were read-only as a whole. */
  readonly closed: readonly string[];
}

export interface Swept {
  readonly planted: readonly SetAside[];
  /** What could not be looked into although commands could write there. */
  readonly unseen: readonly string[];
}

/** Whether all of it has another name by now. */
export function isSettled(planted: readonly SetAside[]): boolean {
  return planted.every(({ now }) => now !== undefined);
}

/** Wider than before a command: what is not found here stays. */
const sweepBounds: WalkBounds = { folders: 2_000_000, milliseconds: 60_000 };

/** Folders whose names are no text can be in each other; each round finds those of one level. */
const mostRounds = 64;

/** Sets aside all that is protected and was not there before, or is another thing by now. */
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
      isKnown: (found) => isTheirs(before, found),
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
  // Deepest first: what is inside a renamed folder has another path afterwards. A `.git` is
  // a repository under its new name too, and so comes without its HEAD.
  for (const { found, act } of paths.sort((one, two) => two.found.length - one.found.length)) {
    if (isTheirs(before, found)) continue;
    const aside = act(place, found);
    if (aside !== undefined) planted.push(aside);
  }
  planted.push(...replacedLinks(place, before));
  return { planted: outermost(planted), unseen: seen.unseen.filter(isOpen) };
}

/** Links on the way to something protected that are another thing by now: that leads elsewhere. */
function replacedLinks(place: SweptPlace, { loose, places }: Before): readonly SetAside[] {
  return [...loose].flatMap(([link, stamp]) => {
    const isOnTheWay = !places.has(link) && statusAt(link) !== undefined;
    return isOnTheWay && stampOf(link) !== stamp ? (setAside(place, link) ?? []) : [];
  });
}

function isTheirs({ places, loose, covered }: Before, place: string): boolean {
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

/** A file system gives the inode of a removed link to the next one; its time it does not. */
export function stampOf(link: string): string {
  const status = statusAt(link);
  return status === undefined ? "" : `${status.ino} ${status.ctimeNs}`;
}

/** What went with something else needs no sentence of its own, unless it is still there. */
function outermost(planted: readonly SetAside[]): readonly SetAside[] {
  return planted.filter(({ place, now }, index) => {
    if (now === undefined) return true;
    return !planted.some((other, at) => isBelow(place, other.place) && at > index);
  });
}

export interface SetAside {
  readonly place: string;
  /** Its new name; absent when it could not be given one. */
  readonly now?: string;
  readonly problem?: string;
}

/**
 * Gives a place another name, under which no program obeys it. Nothing is deleted: a person may
 * have put it there at this moment. The folder is opened first, since a link may be in the
 * folder's place by now. Undefined when it is gone.
 */
function setAside(workspace: Boundary, place: string): SetAside | undefined {
  try {
    return rename(workspace, place);
  } catch (error) {
    if (isGone(place)) return undefined;
    return { place, problem: messageOf(error) };
  }
}

/** Takes from a folder what makes git take it for a repository: without its HEAD it is a folder. */
function setRepositoryAside(workspace: Boundary, folder: string): SetAside | undefined {
  try {
    const name = readdirSync(folder, { withFileTypes: true }).find(
      (entry) => gitDirectoryName(entry.name, entry.isDirectory()) === "HEAD",
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
    // A command may have closed the folder so that this fails; a folder is only moved if it can
    // be written itself.
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
 * Gives the folders of a folder whose names are no text names that are: only so can they be looked
 * into and mounted. A link is not followed.
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

/** Short enough to be a name, and one that people can read, whatever the old one was. */
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

/** No program obeys an empty folder: a command has one in the place of what it must not create. */
function isEmptyFolder(place: string): boolean {
  try {
    return lstatSync(place).isDirectory() && readdirSync(place).length === 0;
  } catch {
    return false;
  }
}
