import { existsSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Names that some file systems cannot tell apart. */
export function foldName(path: string): string {
  return path.normalize("NFC").toLowerCase();
}

/**
 * Groups of paths, of files or of the folders above them, that differ in case or in Unicode form
 * alone. With `among`, only groups in which one of those paths takes part.
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

/** Whether the folder's file system takes `A` and `a` for one name. Creates nothing. */
export function ignoresCase(folder: string): boolean {
  const name = basename(folder);
  const other = name === name.toUpperCase() ? name.toLowerCase() : name.toUpperCase();
  const twin = join(dirname(folder), other);
  if (other === name || !existsSync(folder) || !existsSync(twin)) return false;
  return statSync(twin).ino === statSync(folder).ino;
}
