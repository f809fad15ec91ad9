/**
 * What several folders do with files: durable writes, folders that may exist already, real paths.
 * Imports nothing of the product.
 */
import { randomBytes } from "node:crypto";
import {
  closeSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { mkdir, open, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Replaces a file: whole or not at all, and still there after a power cut once this resolves. Only
 * this user can read it. A failure to write or to sync is thrown, and the old file stays.
 */
export async function writeDurably(path: string, body: string): Promise<void> {
  const folder = dirname(path);
  const made = await mkdir(folder, { recursive: true, mode: 0o700 });
  const temporary = temporaryFor(path);
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(body);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
  // A file is named in its folder, and a new folder in the one above.
  await syncFolder(folder);
  if (made !== undefined) await syncFolder(dirname(folder));
}

/** `writeDurably` for callers that must not wait: nothing else may happen in between. */
export function writeDurablySync(path: string, body: string): void {
  const folder = dirname(path);
  const made = mkdirSync(folder, { recursive: true, mode: 0o700 });
  const temporary = temporaryFor(path);
  try {
    const descriptor = openSync(temporary, "wx", 0o600);
    try {
      // Continues where a disk that fills up took only a part, until it takes all or refuses.
      writeFileSync(descriptor, body);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncFolderSync(folder);
  if (made !== undefined) syncFolderSync(dirname(folder));
}

/** Two processes may write one file at the same time: each has a temporary file of its own. */
function temporaryFor(path: string): string {
  return `${path}.${process.pid}.${randomBytes(6).toString("hex")}`;
}

/** Whether a name is that of a temporary file, which stays behind when its process is killed. */
export function isTemporary(name: string): boolean {
  return /\.[0-9]+\.[0-9a-z]+$/.test(name);
}

/** Not every platform opens folders, and not every file system can sync one. */
const notOffered: ReadonlySet<unknown> = new Set(["EISDIR", "EACCES", "EPERM", "EINVAL"]);

function throwIfOffered(error: unknown): void {
  if (!notOffered.has((error as NodeJS.ErrnoException).code)) throw error;
}

/** The names in a folder are durable once it is. */
async function syncFolder(path: string): Promise<void> {
  try {
    const folder = await open(path, "r");
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  } catch (error) {
    throwIfOffered(error);
  }
}

/** The names in a folder are durable once this returns. */
export function syncFolderSync(path: string): void {
  try {
    const descriptor = openSync(path, "r");
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    throwIfOffered(error);
  }
}

/** False: there is something of that name, which opening it tells more about. */
export function makeFolder(path: string, mode = 0o777): boolean {
  try {
    mkdirSync(path, { mode });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Undefined: it does not exist, cannot be looked at, or is no folder. */
export async function realFolder(path: string): Promise<string | undefined> {
  try {
    const real = await realpath(path);
    return (await stat(real)).isDirectory() ? real : undefined;
  } catch {
    return undefined;
  }
}

/** The synchronous form of `realFolder`. */
export function realFolderSync(path: string): string | undefined {
  try {
    const real = realpathSync.native(path);
    return statSync(real).isDirectory() ? real : undefined;
  } catch {
    return undefined;
  }
}

/** The one name of a path, or the path itself where it leads nowhere. */
export function realPathOr(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** The names in a folder, sorted; none when the folder does not exist. */
export function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    throw error;
  }
}

/**
 * All bytes of an open regular file, or null when it has more than `maximumBytes`. The limit holds
 * for what is read, not only for the size that was claimed: a file can grow in between.
 */
export function readWholeFile(descriptor: number, maximumBytes: number): Buffer | null {
  const { size } = fstatSync(descriptor);
  if (size > maximumBytes) return null;
  // One byte more than expected: whether it is filled tells whether that was the end.
  const expected = fill(descriptor, Buffer.allocUnsafe(size + 1));
  if (expected.length <= size) return expected;
  const grown = fill(descriptor, Buffer.allocUnsafe(maximumBytes + 1));
  return grown.length > maximumBytes ? null : grown;
}

function fill(descriptor: number, buffer: Buffer): Buffer {
  let length = 0;
  while (length < buffer.length) {
    const count = readSync(descriptor, buffer, length, buffer.length - length, length);
    if (count === 0) break;
    length += count;
  }
  return buffer.subarray(0, length);
}
