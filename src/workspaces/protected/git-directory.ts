import { lstatSync } from "node:fs";
import { relative, sep } from "node:path";
import { foldedName } from "./protection.ts";

/**
 * Whether git takes a folder with these entries for a repository, whatever the folder is called: git
 * then obeys the settings there, in that folder and below it. Git also checks what HEAD names; other
 * programs do not.
 */
export function isGitDirectory(has: (name: GitDirectoryName) => boolean): boolean {
  return has("HEAD") && (has("commondir") || (has("objects") && has("refs")));
}

export type GitDirectoryName = "HEAD" | "commondir" | "objects" | "refs";

/** Which of the names that make a repository an entry has; `HEAD` and `commondir` are no folders. */
export function gitDirectoryName(name: string, isFolder: boolean): GitDirectoryName | undefined {
  if (name.length > longestName) return undefined;
  const found = gitDirectoryNames.get(foldedName(name));
  return isFolder && (found === "HEAD" || found === "commondir") ? undefined : found;
}

const gitDirectoryNames = new Map(
  (["HEAD", "commondir", "objects", "refs"] as const).map((name) => [foldedName(name), name]),
);
// Longer than any of them, for the characters that a file system ignores.
const longestName = 32;

/**
 * The outermost folder from the root down to a file that is a repository in this sense, or would be
 * once these files are there. `files` are absolute; the file system says what is there already.
 */
export function gitDirectoryAround(root: string, files: readonly string[]): string | undefined {
  const added = new Map<string, Set<GitDirectoryName>>();
  for (const file of files) {
    const names = relative(root, file).split(sep);
    let folder = root;
    for (const [depth, name] of names.entries()) {
      const known = added.get(folder) ?? new Set();
      if (known.size === 0) added.set(folder, known);
      const part = gitDirectoryName(name, depth < names.length - 1);
      if (part !== undefined) known.add(part);
      folder = `${folder}${sep}${name}`;
    }
  }
  const missing: string[] = [];
  for (const [folder, parts] of added) {
    // A path may have thousands of folders: below one that is missing nothing is looked for.
    const isMissing = missing.some((above) => folder.startsWith(above)) || !isFolder(folder);
    if (isMissing && parts.size === 0) {
      if (!missing.some((above) => folder.startsWith(above))) missing.push(`${folder}${sep}`);
      continue;
    }
    if (isGitDirectory((name) => parts.has(name) || isThere(folder, name))) return folder;
  }
  return undefined;
}

function isFolder(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch {
    return false;
  }
}

function isThere(folder: string, name: GitDirectoryName): boolean {
  try {
    const status = lstatSync(`${folder}${sep}${name}`, { throwIfNoEntry: false });
    if (status === undefined) return false;
    return gitDirectoryName(name, status.isDirectory()) !== undefined;
  } catch {
    return false;
  }
}
