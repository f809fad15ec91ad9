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
  type Stats,
} from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import type { WorkspaceBinding } from "./bind-workspace.ts";
import { type Boundary, PathDenied, requireReachable, resolveInside } from "./resolve-inside.ts";

/**
 * A regular file inside the workspace, open for reading. Callers use the descriptor, not the path.
 */
export interface OpenFile {
  readonly descriptor: number;
  /** Relative to the workspace's root, with `/`. */
  readonly path: string;
  readonly stats: Stats;
  close(): void;
}

const noFollow = constants.O_NOFOLLOW ?? 0;
// A FIFO opened without it waits for a writer, forever.
const nonBlocking = constants.O_NONBLOCK ?? 0;

/**
 * Opens the file that a path from a model leads to. Links that stay inside are followed; anything
 * else that is not a regular file, or is outside, is denied. Other file system errors are thrown
 * unchanged.
 */
export function openFile(binding: WorkspaceBinding, asked: string): OpenFile {
  const { path } = resolveInside(binding, asked);
  if (path === binding.root) throw isFolder(asked);
  const folder = openFolder(binding, dirname(path), asked);
  try {
    return openEntry(binding, folder, basename(path), asked);
  } finally {
    folder.close();
  }
}

/** Opens one entry of a folder that is known to be inside. Never follows a link. */
export function openEntry(
  binding: WorkspaceBinding,
  folder: OpenFolder,
  name: string,
  asked: string,
): OpenFile {
  const place = join(folder.path, name);
  requireReachable(binding, place, asked);
  if (isTemporaryName(name)) throw isMissing(asked);
  // Checked before opening, because opening a device can have side effects.
  requireRegular(lstatSync(folder.entry(name)), asked);
  const descriptor = openSync(folder.entry(name), constants.O_RDONLY | noFollow | nonBlocking);
  try {
    const stats = fstatSync(descriptor);
    requireRegular(stats, asked);
    return {
      descriptor,
      path: shownPath(binding, place),
      stats,
      close: () => closeSync(descriptor),
    };
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

export function shownPath(binding: WorkspaceBinding, place: string): string {
  return relative(binding.root, place).split(sep).join("/") || ".";
}

function requireRegular(stats: Stats, asked: string): void {
  if (stats.isFile()) return;
  if (stats.isDirectory()) throw isFolder(asked);
  if (stats.isSymbolicLink()) {
    throw new PathDenied("path_changed", `"${asked}" became a symbolic link. Use another path.`);
  }
  throw new PathDenied(
    "path_not_regular",
    `"${asked}" is a device, a pipe or a socket, and only regular files can be opened.`,
  );
}

/** A temporary file of Mandate is invisible to every tool. */
function isMissing(asked: string): Error {
  return Object.assign(new Error(`"${asked}" does not exist`), { code: "ENOENT" });
}

/** An error like that of the file system, so that callers handle one kind of error. */
export function isFolder(asked: string): Error {
  return Object.assign(new Error(`"${asked}" is a folder`), { code: "EISDIR" });
}

/**
 * Opens many files that a walk has named, folder by folder: each folder is opened and checked once
 * for all its files. Follows no links.
 */
export class SiblingOpener {
  readonly #binding: WorkspaceBinding;
  #folder: OpenFolder | undefined;
  #place: string | undefined;

  constructor(binding: WorkspaceBinding) {
    this.#binding = binding;
  }

  /** `path` is relative to the root, with `/`, without `.` and `..`. */
  open(path: string): OpenFile {
    const slash = path.lastIndexOf("/");
    const place = slash < 0 ? this.#binding.root : join(this.#binding.root, path.slice(0, slash));
    if (this.#folder === undefined || place !== this.#place) {
      this.close();
      this.#folder = openFolder(this.#binding, place, path);
      this.#place = this.#folder.path;
      if (this.#place !== place) {
        throw new PathDenied("path_changed", `"${path}" now goes through a symbolic link.`);
      }
    }
    return openEntry(this.#binding, this.#folder, path.slice(slash + 1), path);
  }

  close(): void {
    this.#folder?.close();
    this.#folder = undefined;
  }
}

/**
 * A folder that was opened once and found to be inside; every access goes through its descriptor.
 */
export interface OpenFolder {
  readonly descriptor: number;
  /** The path of the folder when it was opened. */
  readonly path: string;
  /** A path of the open folder itself, for listing it. */
  readonly here: string;
  /** An entry of this very folder, even if the folder's path now leads elsewhere. */
  entry(name: string): string;
  close(): void;
}

// Node has no openat(2). On Linux a path through /proc/self/fd has the same effect. Elsewhere the
// check after opening is the only one, and a swap before the next call cannot be excluded.
const throughDescriptors = process.platform === "linux" && existsSync("/proc/self/fd");

// Windows lacks these flags.
const flags = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0);

/**
 * Opens a folder and checks the location of its descriptor, not of its path. If a parent became a
 * link after the path was resolved, this fails before anything is read or written.
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
    `"${asked}" was replaced while it was being opened. List the folder again with list_files, then retry.`,
  );
}

/**
 * The name of new content until it replaces the old file. Tools neither show nor accept such names.
 */
export function temporaryName(): string {
  return `.mandate-${randomBytes(8).toString("hex")}.tmp`;
}

export function isTemporaryName(name: string): boolean {
  return name.length === 29 && /^\.mandate-[0-9a-f]{16}\.tmp$/i.test(name);
}
