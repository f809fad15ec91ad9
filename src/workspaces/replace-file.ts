import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  fchmodSync,
  fsync,
  lstatSync,
  openSync,
  read,
  renameSync,
  type Stats,
  unlinkSync,
  write,
} from "node:fs";
import { join, sep } from "node:path";
import { promisify } from "node:util";
import { makeFolder, readWholeFile } from "../files.ts";
import type { WorkspaceBinding } from "./bind-workspace.ts";
import {
  type OpenFile,
  type OpenFolder,
  openEntry,
  openFolder,
  shownPath,
  temporaryName,
} from "./open-file.ts";
import {
  ensureWorkspaceWriteAccess,
  resolveForWriting,
  type WritablePlace,
} from "./resolve-for-writing.ts";
import { PathDenied } from "./resolve-inside.ts";

interface ReplacedFile {
  /** Relative to the workspace's root, with `/`. */
  readonly path: string;
  /** SHA-256 of the content before; null: there was no file. */
  readonly before: string | null;
  readonly after: string;
}

interface ReplaceOptions {
  /** SHA-256 of the content from which the new content was made. */
  readonly expected?: string;
  readonly signal?: AbortSignal | undefined;
}

const readAsync = promisify(read);
const writeAsync = promisify(write);
const fsyncAsync = promisify(fsync);

/**
 * Replaces the content of a file as a whole: readers see the old or the new content, even after a
 * power failure. Creates missing folders inside the boundary. Hashing, writing and syncing leave
 * the event loop free; the short calls between them are synchronous, which also narrows races. With
 * `expected`, the SHA-256 of the content that the new content was made from, it throws
 * `FileChanged` if the file has other content.
 */
export async function replaceFile(
  binding: WorkspaceBinding,
  asked: string,
  content: Uint8Array,
  { expected, signal }: ReplaceOptions = {},
): Promise<ReplacedFile> {
  const target = resolveForWriting(binding, asked);
  const folder = openFolderForWriting(binding, target, asked);
  try {
    const place = join(folder.path, target.file);
    ensureWorkspaceWriteAccess(binding, place, asked);
    const old = openReplaceable(binding, folder, target.file, asked);
    const before = old === undefined ? null : await hashAndClose(old, signal);
    const after = createHash("sha256").update(content).digest("hex");
    const result = { path: shownPath(binding, place), before, after };
    if (expected !== undefined && before !== expected) throw new FileChanged(result.path);
    const requireUnchanged = () => {
      // Checked again: another agent may have created files that make the folder a git repository.
      ensureWorkspaceWriteAccess(binding, place, asked);
      if (expected === undefined || isUnchanged(folder.entry(target.file), old?.stats)) return;
      throw new FileChanged(result.path);
    };
    if (before !== after) {
      await swapIn(folder, target.file, content, old?.stats, requireUnchanged, signal);
    }
    return result;
  } finally {
    folder.close();
  }
}

async function hashAndClose(file: OpenFile, signal: AbortSignal | undefined): Promise<string> {
  try {
    const hash = createHash("sha256");
    const buffer = Buffer.allocUnsafe(Math.min(Math.max(file.stats.size, 1), 1 << 18));
    for (;;) {
      signal?.throwIfAborted();
      const { bytesRead } = await readAsync(file.descriptor, buffer, 0, buffer.length, null);
      if (bytesRead === 0) return hash.digest("hex");
      hash.update(buffer.subarray(0, bytesRead));
    }
  } finally {
    file.close();
  }
}

async function swapIn(
  folder: OpenFolder,
  name: string,
  content: Uint8Array,
  old: Stats | undefined,
  requireUnchanged: () => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  const temporary = folder.entry(temporaryName());
  const { O_CREAT, O_EXCL, O_WRONLY } = constants;
  const descriptor = openSync(temporary, O_CREAT | O_EXCL | O_WRONLY, 0o666);
  try {
    try {
      if (old !== undefined) fchmodSync(descriptor, old.mode & 0o777);
      await writeWhole(descriptor, content);
      await fsyncAsync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    signal?.throwIfAborted();
    requireUnchanged();
    // Replaces the name itself: a link created there in the meantime is not followed.
    renameSync(temporary, folder.entry(name));
  } catch (error) {
    discard(temporary);
    throw error;
  }
  // A new name is durable only when its folder is. Not every platform can sync a folder.
  await fsyncAsync(folder.descriptor).catch(() => undefined);
}

/** Whether a name still leads to the file that was hashed, as far as its times show. */
function isUnchanged(path: string, old: Stats | undefined): boolean {
  const now = lstatSync(path, { throwIfNoEntry: false });
  if (now === undefined || old === undefined) return now === old;
  return (
    now.ino === old.ino &&
    now.dev === old.dev &&
    now.size === old.size &&
    now.mtimeMs === old.mtimeMs &&
    now.ctimeMs === old.ctimeMs
  );
}

function discard(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // The folder is gone; the error that led here is the one to report.
  }
}

async function writeWhole(descriptor: number, content: Uint8Array): Promise<void> {
  let written = 0;
  while (written < content.length) {
    const rest = content.length - written;
    written += (await writeAsync(descriptor, content, written, rest, null)).bytesWritten;
  }
}

/**
 * Opens the folder that will hold the file and creates missing folders. Each new folder is created
 * inside the one opened before it, so that no step uses a path that could have changed, and only
 * while the file itself may be written.
 */
function openFolderForWriting(
  binding: WorkspaceBinding,
  place: WritablePlace,
  asked: string,
): OpenFolder {
  let folder = openFolder(binding, place.existing, asked);
  let expected = place.existing;
  for (const [index, name] of place.missing.entries()) {
    const parent = folder;
    try {
      // The whole path was checked when it was resolved. After a folder was moved, the file is
      // checked again, not the folder: folders above a write root lead to it.
      if (parent.path !== expected) {
        const rest = place.missing.slice(index);
        ensureWorkspaceWriteAccess(binding, join(parent.path, ...rest, place.file), asked);
      }
      expected = `${expected}${sep}${name}`;
      // Another process may have created it first: opening it tells whether it is a folder inside.
      makeFolder(parent.entry(name));
      folder = openFolder(binding, parent.entry(name), asked);
    } finally {
      parent.close();
    }
  }
  return folder;
}

/** Opens the file that is to be replaced; undefined when it does not exist yet. */
function openReplaceable(
  binding: WorkspaceBinding,
  folder: OpenFolder,
  name: string,
  asked: string,
): OpenFile | undefined {
  const stats = lstatSync(folder.entry(name), { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  if (stats.isSymbolicLink()) {
    throw new PathDenied(
      "path_link",
      `"${asked}" is a symbolic link, and links are not written through. Write the file that it ` +
        "points at, by its own path.",
    );
  }
  const file = openEntry(binding, folder, name, asked);
  if (file.stats.nlink <= 1) return file;
  file.close();
  throw new PathDenied(
    "path_hard_link",
    `"${asked}" has another name elsewhere (a hard link) and cannot be written. Write another file.`,
  );
}

/** Runs every check of a write that is possible in advance. Changes nothing. */
export function requireReplaceable(binding: WorkspaceBinding, asked: string): void {
  const { existing, missing, file } = resolveForWriting(binding, asked);
  if (missing.length > 0) return;
  const folder = openFolder(binding, existing, asked);
  try {
    openReplaceable(binding, folder, file, asked)?.close();
  } finally {
    folder.close();
  }
}

interface ReplaceableFile {
  /** Relative to the workspace's root, with `/`. */
  readonly path: string;
  /** The content; null: the file has more bytes than were allowed. */
  readonly content: Buffer | null;
  /** SHA-256 of the content; give it to `replaceFile` so that nothing newer is overwritten. */
  readonly hash: string;
  readonly size: number;
}

/**
 * Reads a file that may be replaced. All checks are made before a byte is read. A missing file is a
 * file system error.
 */
export function readReplaceable(
  binding: WorkspaceBinding,
  asked: string,
  maximumBytes: number,
): ReplaceableFile {
  const { existing, missing, file: name } = resolveForWriting(binding, asked);
  if (missing.length > 0) throw notThere(asked);
  const folder = openFolder(binding, existing, asked);
  try {
    const file = openReplaceable(binding, folder, name, asked);
    if (file === undefined) throw notThere(asked);
    try {
      const content = readWholeFile(file.descriptor, maximumBytes);
      const hash = content === null ? "" : createHash("sha256").update(content).digest("hex");
      return { path: file.path, content, hash, size: file.stats.size };
    } finally {
      file.close();
    }
  } finally {
    folder.close();
  }
}

/** An error like that of the file system, so that callers handle one kind of error. */
function notThere(asked: string): Error {
  return Object.assign(new Error(`"${asked}" does not exist`), { code: "ENOENT" });
}

/** Another process changed a file between reading it and replacing it. */
export class FileChanged extends Error {
  constructor(path: string) {
    super(
      `"${path}" was changed by another process while it was being edited. Read it again first.`,
    );
    this.name = "FileChanged";
  }
}
