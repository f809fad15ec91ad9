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
import { join } from "node:path";
import { promisify } from "node:util";
import { ensureWorkspaceWriteAccess } from "./ensure-workspace-write-access.ts";
import { FileChanged } from "./file-changed.ts";
import { type OpenFile, shownPath } from "./open-file.ts";
import type { OpenFolder } from "./open-folder.ts";
import { openFolderForWriting } from "./open-folder-for-writing.ts";
import { openReplaceable } from "./open-replaceable.ts";
import { resolveForWriting } from "./resolve-for-writing.ts";
import { temporaryName } from "./temporary-name.ts";
import type { WorkspaceBinding } from "./workspace-binding.ts";

export interface ReplacedFile {
  /** Relative to the workspace's root, with `/`. */
  readonly path: string;
  /** SHA-256 of the content before; null: there was no file. */
  readonly before: string | null;
  readonly after: string;
}

const readAsync = promisify(read);
const writeAsync = promisify(write);
const fsyncAsync = promisify(fsync);

/**
 * Gives a file new content, whole or not at all: readers see the old or the new one, also after a
 * power cut. Missing folders are created inside the boundary. Hashing, writing and syncing leave
 * the event loop free; the short calls around them are made at once, which also leaves a race less
 * room. With `expected`, the SHA-256 of the content that the new one was made from, it throws
 * `FileChanged` when that is no longer what is there.
 */
export async function replaceFile(
  binding: WorkspaceBinding,
  asked: string,
  content: Uint8Array,
  signal?: AbortSignal,
  expected?: string,
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
      // Asked again: another agent may have written what makes a repository of the folder.
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
    // Replaces the name itself: a link that was put there meanwhile is not followed.
    renameSync(temporary, folder.entry(name));
  } catch (error) {
    discard(temporary);
    throw error;
  }
  // The name is durable only once its folder is. Not every platform can sync one.
  await fsyncAsync(folder.descriptor).catch(() => undefined);
}

/** Whether a name still leads to the file that was hashed, as far as its times can tell. */
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
    // Gone with its folder; the error that led here is the one to report.
  }
}

async function writeWhole(descriptor: number, content: Uint8Array): Promise<void> {
  let written = 0;
  while (written < content.length) {
    const rest = content.length - written;
    written += (await writeAsync(descriptor, content, written, rest, null)).bytesWritten;
  }
}
