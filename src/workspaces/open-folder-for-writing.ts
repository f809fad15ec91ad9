import { join, sep } from "node:path";
import { makeFolder } from "../files.ts";
import { ensureWorkspaceWriteAccess } from "./ensure-workspace-write-access.ts";
import { type OpenFolder, openFolder } from "./open-folder.ts";
import type { WritablePlace } from "./resolve-for-writing.ts";
import type { WorkspaceBinding } from "./workspace-binding.ts";

/**
 * Opens the folder that will hold the file, creating what is missing on the way. Each new folder
 * is made inside the one opened before it, so no step goes through a path that could have changed
 * meanwhile, and only while the file itself may be written.
 */
export function openFolderForWriting(
  binding: WorkspaceBinding,
  place: WritablePlace,
  asked: string,
): OpenFolder {
  let folder = openFolder(binding, place.existing, asked);
  let expected = place.existing;
  for (const [index, name] of place.missing.entries()) {
    const parent = folder;
    try {
      // The whole path was judged when it was resolved. A folder that was moved since is judged
      // again, by the file and not by the step: the folders above a write root are ways to it.
      if (parent.path !== expected) {
        const rest = place.missing.slice(index);
        ensureWorkspaceWriteAccess(binding, join(parent.path, ...rest, place.file), asked);
      }
      expected = `${expected}${sep}${name}`;
      // Another process may have made it first: opening it tells whether it is a folder of ours.
      makeFolder(parent.entry(name));
      folder = openFolder(binding, parent.entry(name), asked);
    } finally {
      parent.close();
    }
  }
  return folder;
}
