import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  realpathSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";

const longestPointer = 4096 + 64;

/**
 * The folders that git takes for a `.git`: itself, or where it points to, as in a submodule, and
 * the one that this shares with others, as in a second working tree. Real paths; the first is the
 * one with the index. None where nothing is there.
 */
export function gitDirectoriesOf(dotGit: string): readonly string[] {
  const own = gitDirectoryOf(dotGit);
  if (own === undefined) return [];
  const shared = readPointer(join(own, "commondir"));
  const real = shared === undefined ? undefined : realpathOf(resolve(own, shared.trim()));
  return real === undefined || real === own ? [own] : [own, real];
}

/** The nearest `.git` at or above a folder; undefined when it is in no repository. */
export function findDotGit(folder: string): string | undefined {
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

/** Never waits for a pipe, and reads no more than a path is long. */
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
