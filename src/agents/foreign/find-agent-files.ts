import { type Dirent, existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";
import { agentPlaces } from "../../workspaces/protected/protected-paths.ts";

const maximumFiles = 10_000;
const maximumDepth = 16;
const skipped = new Set(["node_modules", ".git", ".hg", ".svn"]);

/**
 * Lists the files in these files and folders, in the order given and each folder by name. A link is
 * followed while it stays below the named folder. Only regular files are listed, unless a path was
 * named itself. At most 10,000 files.
 */
export function findAgentFiles(paths: readonly string[]): readonly string[] {
  const found = new Set<string>();
  for (const path of paths) {
    if (isFolder(path)) walk(path, { root: realpathSync.native(path), found, depth: 0 });
    else found.add(path);
  }
  return [...found].slice(0, maximumFiles);
}

interface Walk {
  readonly root: string;
  readonly found: Set<string>;
  readonly depth: number;
}

function walk(folder: string, { root, found, depth }: Walk): void {
  if (depth > maximumDepth) return;
  for (const entry of listFolder(folder)) {
    if (found.size >= maximumFiles) return;
    const path = join(folder, entry.name);
    if (skipped.has(entry.name)) continue;
    if (entry.isSymbolicLink() && !staysBelow(path, root)) continue;
    const isLink = entry.isSymbolicLink();
    // A link to a folder is not followed: it could form a cycle.
    if (isLink ? false : entry.isDirectory()) walk(path, { root, found, depth: depth + 1 });
    else if (isLink ? isFile(path) : entry.isFile()) found.add(path);
  }
}

function listFolder(folder: string): readonly Dirent[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.sort((left, right) => (left.name < right.name ? -1 : 1));
  } catch {
    return [];
  }
}

function staysBelow(path: string, root: string): boolean {
  try {
    return isBelow(realpathSync.native(path), root);
  } catch {
    return false;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** The existing folders and files of a project in which other programs keep agents. */
export function discoverAgentPlaces(projectFolder: string): readonly string[] {
  return agentPlaces.map((place) => join(projectFolder, place)).filter((path) => existsSync(path));
}
