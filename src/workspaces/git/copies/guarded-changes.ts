import { basename, join } from "node:path";
import { isBelow } from "../../../contracts/write-roots.ts";
import { linkedWays } from "../../protected/linked-places.ts";
import { protectionOf } from "../../protected/protection.ts";
import { nearestRealPath } from "../../resolve-inside.ts";
import { foldName } from "./change-problem.ts";
import { readCopyRecord, type WorkingCopy } from "./working-copy.ts";

/**
 * Those of the changed paths that agents cannot write: what the list protects, and what the next
 * start reads; `guarded` are absolute places. A path above such a place counts as well: as a link it
 * would lead to another one. Compared without case, as some file systems do.
 */
export function guardedChanges(
  copy: WorkingCopy,
  paths: readonly string[],
  guarded: readonly string[],
  isProtected: IsProtected = isOnTheList,
): readonly string[] {
  const root = placeOf(copy);
  const at = foldName(root);
  // A replay has the list of its recording, and does not look at the folder of today.
  const linked = isProtected === isOnTheList ? linkedWays(root) : [];
  const all = [...guarded, ...linked].flatMap((place) => [place, realPathOf(place)]);
  const places = new Set([...all, ...linked].map(foldName));
  return paths.filter((path) => {
    if (isProtected(root, path)) return true;
    const changed = join(at, foldName(path));
    return [...places].some((place) => isBelow(changed, place) || isBelow(place, changed));
  });
}

/** Whether agents cannot write a path below a workspace's root. */
export type IsProtected = (root: string, path: string) => boolean;

const isOnTheList: IsProtected = (root, path) => protectionOf(root, path) !== undefined;

/** Those of the changed paths that lie below none of the write roots, as a contract names them. */
export function changesOutside(
  copy: WorkingCopy,
  paths: readonly string[],
  writeRoots: readonly string[],
): readonly string[] {
  const at = placeOf(copy);
  return paths.filter((path) => !writeRoots.some((root) => isBelow(join(at, path), root)));
}

/** The workspace that a person knows, also where the copy was made of another copy. */
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
