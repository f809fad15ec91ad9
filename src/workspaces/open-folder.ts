import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
} from "node:fs";
import { join } from "node:path";
import { type Boundary, PathDenied, requireReachable } from "./resolve-inside.ts";

/** A folder that was opened once and found to lie inside; whatever happens in it goes through it. */
export interface OpenFolder {
  readonly descriptor: number;
  /** Where it was when it was opened. */
  readonly path: string;
  /** The folder itself, for listing. */
  readonly here: string;
  /** An entry of this very folder, even when its path leads elsewhere by now. */
  entry(name: string): string;
  close(): void;
}

// Node has no openat(2). On Linux a path through /proc/self/fd is just that; elsewhere the check
// after opening is all there is, and a swap between it and the next call cannot be excluded.
const throughDescriptors = process.platform === "linux" && existsSync("/proc/self/fd");

// Windows lacks these flags.
const flags = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0);

/**
 * Opens a folder and asks the descriptor, not the path, where it is. A parent that became a link
 * after it was resolved is found out here, before anything is read or written.
 */
export function openFolder(binding: Boundary, path: string, asked: string): OpenFolder {
  const descriptor = openSync(path, flags);
  try {
    const location = locationOf(descriptor, path, asked);
    requireReachable(binding, location, asked);
    const here = throughDescriptors ? `/proc/self/fd/${descriptor}` : location;
    return {
      descriptor,
      path: location,
      here,
      entry: (name) => join(here, name),
      close: () => closeSync(descriptor),
    };
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

function locationOf(descriptor: number, path: string, asked: string): string {
  if (throughDescriptors) return readlinkSync(`/proc/self/fd/${descriptor}`);
  const location = realpathSync.native(path);
  const there = lstatSync(location, { bigint: true });
  const opened = fstatSync(descriptor, { bigint: true });
  if (there.dev === opened.dev && there.ino === opened.ino) return location;
  throw new PathDenied(
    "path_changed",
    `"${asked}" was replaced while it was being opened. Look again with list_files, then retry.`,
  );
}

/** A name for new content until it replaces the old. No tool shows or takes files with such a name. */
export function temporaryName(): string {
  return `.mandate-${randomBytes(8).toString("hex")}.tmp`;
}

export function isTemporaryName(name: string): boolean {
  return name.length === 29 && /^\.mandate-[0-9a-f]{16}\.tmp$/i.test(name);
}
