import {
  type BigIntStats,
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
} from "node:fs";
import { dirname } from "node:path";

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
