import { basename } from "node:path";
import { isBelow } from "../../../contracts/write-roots.ts";
import { steersTerminal } from "../../hidden-name.ts";
import { foldedName } from "../../protected/folded-name.ts";
import type { WorkspaceBinding } from "../../workspace-binding.ts";
import { statusAt } from "./make-readable.ts";
import type { ProtectedWalk, WalkBounds } from "./protected-walk.ts";
import {
  isEmptyFolder,
  renameUnreadable,
  type SetAside,
  setAside,
  setRepositoryAside,
} from "./set-aside.ts";

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
