import { createHash } from "node:crypto";
import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  type Stats,
} from "node:fs";
import { open } from "node:fs/promises";
import { executableMode, linkMode, type ObjectFormat } from "./place.ts";
import type { TreeEntry } from "./read-git.ts";

/** What is at a path: nothing, a file or link with git's hash of its content, or something else. */
type Sighting =
  | { readonly kind: "nothing" }
  | { readonly kind: "other" }
  | { readonly kind: "entry"; readonly entry: TreeEntry; readonly stats: BigIntStats };

const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Reads the file itself, independent of git's index. Never follows a link. */
export async function lookAtFile(path: string | Buffer, format: ObjectFormat): Promise<Sighting> {
  for (let look = 1; look <= looks; look++) {
    const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    if (stats === undefined) return { kind: "nothing" };
    try {
      return await readEntry(path, format, stats);
    } catch (error) {
      // The entry was removed or replaced between two steps: look again.
      if (!ofReplaced.has((error as NodeJS.ErrnoException).code)) throw error;
    }
  }
  return { kind: "other" };
}

const looks = 3;
const ofReplaced: ReadonlySet<string | undefined> = new Set(["ENOENT", "ELOOP", "EINVAL"]);

async function readEntry(
  path: string | Buffer,
  format: ObjectFormat,
  stats: BigIntStats,
): Promise<Sighting> {
  if (stats.isSymbolicLink()) {
    const target = readlinkSync(path, { encoding: "buffer" });
    const object = hashHeader(format, target.length).update(target).digest("hex");
    return { kind: "entry", entry: { mode: linkMode, object }, stats };
  }
  if (!stats.isFile()) return { kind: "other" };
  return stats.size <= small ? readAtOnce(path, format, stats) : readFile(path, format, stats);
}

const small = 65_536n;

/** Synchronous, since most files are small and awaiting each step would take most of the time. */
function readAtOnce(path: string | Buffer, format: ObjectFormat, stats: BigIntStats): Sighting {
  const descriptor = openSync(path, flags);
  try {
    const opened = fstatSync(descriptor, { bigint: true });
    if (!opened.isFile() || !isSameFile(stats, opened)) return { kind: "other" };
    const object = hashHeader(format, Number(opened.size))
      .update(readFileSync(descriptor))
      .digest("hex");
    if (!isSameFile(opened, fstatSync(descriptor, { bigint: true }))) return { kind: "other" };
    return { kind: "entry", entry: { mode: modeOf(opened), object }, stats: opened };
  } finally {
    closeSync(descriptor);
  }
}

async function readFile(
  path: string | Buffer,
  format: ObjectFormat,
  stats: BigIntStats,
): Promise<Sighting> {
  const file = await open(path, flags);
  try {
    const opened = await file.stat({ bigint: true });
    if (!opened.isFile() || !isSameFile(stats, opened)) return { kind: "other" };
    const hash = hashHeader(format, Number(opened.size));
    const buffer = Buffer.allocUnsafe(Math.min(Math.max(Number(opened.size), 1), 1 << 18));
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, null);
      if (bytesRead === 0) break;
      hash.update(buffer.subarray(0, bytesRead));
    }
    if (!isSameFile(opened, await file.stat({ bigint: true }))) return { kind: "other" };
    const entry = { mode: modeOf(opened), object: hash.digest("hex") };
    return { kind: "entry", entry, stats: opened };
  } finally {
    await file.close();
  }
}

function modeOf({ mode }: BigIntStats): string {
  return (mode & 0o100n) === 0n ? "100644" : executableMode;
}

function hashHeader(format: ObjectFormat, bytes: number) {
  return createHash(format).update(`blob ${bytes}\0`);
}

/** The same file, not written to in between as far as its times show. */
export function isSameFile(left: BigIntStats, right: BigIntStats): boolean {
  return left.ino === right.ino && left.size === right.size && left.mtimeNs === right.mtimeNs;
}

export function isEntry(sighting: Sighting, entry: TreeEntry | null): boolean {
  if (entry === null) return sighting.kind === "nothing";
  if (sighting.kind !== "entry") return false;
  return sighting.entry.object === entry.object && sighting.entry.mode === entry.mode;
}

/** What is at a path, links not followed; undefined when nothing is there, also below a file. */
export function entryAt(path: string | Buffer): Stats | undefined {
  try {
    return lstatSync(path);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}
