import { type Dirent, readlinkSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { shownPath } from "./open-file.ts";
import { type OpenFolder, openFolder } from "./open-folder.ts";
import { isForbidden, resolveInside } from "./resolve-inside.ts";
import { isTemporaryName } from "./temporary-name.ts";
import type { WorkspaceBinding } from "./workspace-binding.ts";

export interface FolderEntry {
  readonly name: string;
  /** Relative to the workspace's root, with `/`. */
  readonly path: string;
  readonly kind: "file" | "folder" | "link" | "other";
  /** What a link says, as it is written there. */
  readonly target?: string;
}

export interface WalkOptions {
  /** Whether to go into a folder; it is asked for folders below the first only. */
  readonly descend: (folder: FolderEntry) => boolean;
  readonly signal?: AbortSignal;
}

/**
 * What lies in a folder, nearest first: a whole level before the next, each folder sorted by name.
 * Whoever stops early has seen the top. Links are named and never followed; what belongs to the
 * runtime is left out.
 */
export async function* walkFolder(
  binding: WorkspaceBinding,
  asked: string,
  options: WalkOptions,
): AsyncGenerator<FolderEntry> {
  const queue = [resolveInside(binding, asked).path];
  for (let index = 0; index < queue.length; index += 1) {
    const path = queue[index] ?? binding.root;
    const entries = await readFolder(binding, path, asked, index === 0);
    for (const entry of entries) {
      options.signal?.throwIfAborted();
      yield entry;
      if (entry.kind === "folder" && options.descend(entry)) {
        queue.push(join(binding.root, entry.path));
      }
    }
  }
}

async function readFolder(
  binding: WorkspaceBinding,
  path: string,
  asked: string,
  isFirst: boolean,
): Promise<readonly FolderEntry[]> {
  let folder: OpenFolder;
  try {
    folder = openFolder(binding, path, asked);
  } catch (error) {
    // The folder that was asked for must open. One below it may be gone or closed to us.
    if (isFirst) throw error;
    return [];
  }
  try {
    const found = await readdir(folder.here, { withFileTypes: true });
    return found
      .filter(
        ({ name }) => !isTemporaryName(name) && !isForbidden(binding, join(folder.path, name)),
      )
      .map((entry) => describeEntry(binding, folder, entry))
      .sort((left, right) => (left.name < right.name ? -1 : 1));
  } finally {
    folder.close();
  }
}

function describeEntry(binding: WorkspaceBinding, folder: OpenFolder, entry: Dirent): FolderEntry {
  const path = shownPath(binding, join(folder.path, entry.name));
  if (!entry.isSymbolicLink()) return { name: entry.name, path, kind: kindOf(entry) };
  const target = readTarget(folder.entry(entry.name));
  return { name: entry.name, path, kind: "link", ...(target === undefined ? {} : { target }) };
}

function readTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined; // Replaced since the folder was read.
  }
}

function kindOf(entry: Dirent): FolderEntry["kind"] {
  if (entry.isFile()) return "file";
  if (entry.isDirectory()) return "folder";
  return "other";
}
