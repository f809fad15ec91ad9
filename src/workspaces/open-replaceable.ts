import { lstatSync } from "node:fs";
import { type OpenFile, openEntry } from "./open-file.ts";
import { type OpenFolder, openFolder } from "./open-folder.ts";
import { PathDenied } from "./path-denied.ts";
import { resolveForWriting } from "./resolve-for-writing.ts";
import type { WorkspaceBinding } from "./workspace-binding.ts";

/** The file that is about to be replaced, open for reading; undefined when there is none yet. */
export function openReplaceable(
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
    `"${asked}" has a second name elsewhere (a hard link) and is not written. Write another file.`,
  );
}

/** Everything that can be said against a write before it is begun. Changes nothing. */
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
