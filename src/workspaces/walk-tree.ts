import { type Dirent, lstatSync, readdirSync, readlinkSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { WorkspaceBinding } from "./bind-workspace.ts";
import { isTemporaryName, type OpenFolder, openFolder, shownPath } from "./open-file.ts";
import { isForbidden, resolveInside } from "./resolve-inside.ts";

export interface TreeEntry {
  readonly name: string;
  /** Relative to the workspace's root, with `/`. */
  readonly path: string;
  readonly kind: "file" | "link";
  /** The link's text. */
  readonly target?: string;
  /** When it was last changed, in milliseconds; where times were asked for. */
  readonly modified?: number;
  readonly folder: FolderFiles;
}

/** What a folder contains, for callers that can treat it as a whole. */
export interface FolderFiles {
  /** How many files of the folder are returned. */
  readonly count: number;
  /** Whether the returned files are all files of the folder. */
  readonly isWhole: boolean;
}

/** Decides for each entry of one folder: folders are entered, files and links are returned. */
export type EntryFilter = (name: string, path: string, isFolder: boolean) => boolean;

interface TreeOptions {
  /** Called once for each folder, while it is open, with its entries. */
  readonly enter: (folder: OpenFolder, path: string, entries: readonly Dirent[]) => EntryFilter;
  readonly withTimes?: boolean;
}

/**
 * All files and links below a folder, ordered by path, segment by segment. Synchronous: it yields
 * null before each folder and each entry, so that the caller can let other work run. Links are
 * returned and not followed, Mandate's own files are omitted, and the location of each folder is
 * checked after it was opened, so that a folder that was swapped is skipped.
 */
export function* walkTree(
  binding: WorkspaceBinding,
  asked: string,
  options: TreeOptions,
): Generator<TreeEntry | null> {
  const start = resolveInside(binding, asked).path;
  const open = [yield* readFolder(binding, start, asked, options)];
  for (let entries = open.at(-1); entries !== undefined; entries = open.at(-1)) {
    const entry = entries.pop();
    if (entry === undefined) open.pop();
    else if (entry.kind !== "folder") yield entry;
    else {
      yield null;
      try {
        open.push(yield* readFolder(binding, join(binding.root, entry.path), entry.path, options));
      } catch {
        // The requested folder must open. A folder below it may be gone or inaccessible.
      }
    }
  }
}

type Found = TreeEntry | { readonly name: string; readonly path: string; readonly kind: "folder" };

/** In reverse order, so that the next entry is taken from the end. */
function* readFolder(
  binding: WorkspaceBinding,
  path: string,
  asked: string,
  options: TreeOptions,
): Generator<null, Found[]> {
  const folder = openFolder(binding, path, asked);
  try {
    // The folder was replaced by another folder of the workspace, which is visited at its own path.
    if (folder.path !== path) return [];
    const shown = shownPath(binding, folder.path);
    const entries = readdirSync(folder.here, { withFileTypes: true });
    const counts = options.enter(folder, shown, entries);
    const hidden = (binding.forbidden ?? []).filter((place) => dirname(place) === path);
    const found: Found[] = [];
    const files = { count: 0, isWhole: true };
    for (const entry of entries) {
      yield null;
      const { name } = entry;
      const isFolder = entry.isDirectory();
      if (!isFolder && !entry.isFile() && !entry.isSymbolicLink()) continue;
      if (hidden.length > 0 && hidden.includes(join(path, name))) continue;
      const entryPath = shown === "." ? name : `${shown}/${name}`;
      if (isTemporaryName(name) || !counts(name, entryPath, isFolder)) {
        if (entry.isFile()) files.isWhole = false;
        continue;
      }
      if (entry.isFile()) files.count += 1;
      if (isFolder) found.push({ name, path: entryPath, kind: "folder" });
      else found.push(describe(folder, entry, entryPath, files, options.withTimes === true));
    }
    return found.sort((left, right) => (left.name < right.name ? 1 : -1));
  } finally {
    folder.close();
  }
}

function describe(
  folder: OpenFolder,
  entry: Dirent,
  path: string,
  files: FolderFiles,
  withTimes: boolean,
): TreeEntry {
  const { name } = entry;
  const modified = withTimes ? { modified: modifiedAt(folder.entry(name)) } : {};
  if (entry.isFile()) return { name, path, kind: "file", folder: files, ...modified };
  const target = targetOf(folder.entry(name));
  const said = target === undefined ? {} : { target };
  return { name, path, kind: "link", folder: files, ...said, ...modified };
}

function modifiedAt(path: string): number {
  return lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function targetOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined; // Replaced since the folder was read.
  }
}

export interface FolderEntry {
  readonly name: string;
  /** Relative to the workspace's root, with `/`. */
  readonly path: string;
  readonly kind: "file" | "folder" | "link" | "other";
  /** The link's text. */
  readonly target?: string;
}

interface WalkOptions {
  /** Whether to enter a folder; called only for folders below the first. */
  readonly descend: (folder: FolderEntry) => boolean;
  readonly signal?: AbortSignal;
}

/**
 * The entries of a folder, breadth first: one whole level before the next, each folder sorted by
 * name. A caller that stops early has seen the top levels. Links are returned and not followed;
 * Mandate's own files are omitted.
 */
export async function* walkFolder(
  binding: WorkspaceBinding,
  asked: string,
  options: WalkOptions,
): AsyncGenerator<FolderEntry> {
  const queue = [resolveInside(binding, asked).path];
  for (let index = 0; index < queue.length; index += 1) {
    const path = queue[index] ?? binding.root;
    const entries = await listFolder(binding, path, asked, index === 0);
    for (const entry of entries) {
      options.signal?.throwIfAborted();
      yield entry;
      if (entry.kind === "folder" && options.descend(entry)) {
        queue.push(join(binding.root, entry.path));
      }
    }
  }
}

async function listFolder(
  binding: WorkspaceBinding,
  path: string,
  asked: string,
  isFirst: boolean,
): Promise<readonly FolderEntry[]> {
  let folder: OpenFolder;
  try {
    folder = openFolder(binding, path, asked);
  } catch (error) {
    // The requested folder must open. A folder below it may be gone or inaccessible.
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
  const target = targetOf(folder.entry(entry.name));
  return { name: entry.name, path, kind: "link", ...(target === undefined ? {} : { target }) };
}

function kindOf(entry: Dirent): FolderEntry["kind"] {
  if (entry.isFile()) return "file";
  if (entry.isDirectory()) return "folder";
  return "other";
}
