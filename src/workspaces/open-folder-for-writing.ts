import { mkdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { ensureWorkspaceWriteAccess } from "./ensure-workspace-write-access.ts";
import { type OpenFolder, openFolder } from "./open-folder.ts";
import { resolveInside } from "./resolve-inside.ts";
import type { WorkspaceBinding } from "./workspace-binding.ts";

/**
 * Opens the folder that will hold the file `absolute`, creating what is missing on the way. Each
 * new folder is made inside the one opened before it, so no step goes through a path that could
 * have changed meanwhile. Nothing is created unless the file itself may be written.
 */
export function openFolderForWriting(
  binding: WorkspaceBinding,
  absolute: string,
  asked: string,
): OpenFolder {
  // Said first, so that a read-only agent learns nothing else about the path.
  if (!binding.allowWrites) ensureWorkspaceWriteAccess(binding, absolute, asked);
  const place = resolveInside(binding, dirname(absolute), asked);
  const file = basename(absolute);
  ensureWorkspaceWriteAccess(binding, join(place.path, file), asked);
  let folder = openFolder(binding, place.existing, asked);
  for (const [index, name] of place.missing.entries()) {
    const parent = folder;
    try {
      // Judged by the file, not by the step: the folders above a write root are ways to it.
      const rest = place.missing.slice(index);
      ensureWorkspaceWriteAccess(binding, join(parent.path, ...rest, file), asked);
      makeFolder(parent.entry(name));
      folder = openFolder(binding, parent.entry(name), asked);
    } finally {
      parent.close();
    }
  }
  return folder;
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path);
  } catch (error) {
    // Someone else made it first; opening it will tell whether it is a folder of ours.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
