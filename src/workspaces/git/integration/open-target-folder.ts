import { lchownSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeFolder } from "../../../files.ts";
import { type OpenFolder, openFolder } from "../../open-folder.ts";
import type { WorkspaceBinding } from "../../workspace-binding.ts";

/**
 * Opens a folder of the person's files, name by name, each inside the one before it: a link on the
 * way is not followed, and a folder that was moved meanwhile is found out. Undefined when there is
 * no such folder, or something else has its name.
 */
export function openTargetFolder(
  toplevel: string,
  names: readonly string[],
  create = false,
): OpenFolder | undefined {
  const binding: WorkspaceBinding = {
    root: toplevel,
    isolation: "shared",
    allowWrites: true,
    writeRoots: [toplevel],
  };
  let folder = openFolder(binding, toplevel, ".");
  for (const [index, name] of names.entries()) {
    const parent = folder;
    try {
      if (create) makeOwnFolder(parent.entry(name));
      folder = openFolder(binding, parent.entry(name), name);
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    } finally {
      parent.close();
    }
    // Another place below the same root is not good enough: this is where one file belongs.
    if (folder.path === join(toplevel, ...names.slice(0, index + 1))) continue;
    folder.close();
    return undefined;
  }
  return folder;
}

/** A folder that root makes belongs to the owner of the folder above. */
function makeOwnFolder(path: string): void {
  if (!makeFolder(path) || process.geteuid?.() !== 0) return;
  const { uid, gid } = statSync(dirname(path));
  // Not what a link leads to that was put there since.
  lchownSync(path, uid, gid);
}

function isMissing(error: unknown): boolean {
  const { code = "" } = error as NodeJS.ErrnoException;
  return ["ENOENT", "ENOTDIR", "ELOOP"].includes(code);
}

/** Works in the folder of a path; `undefined` for the folder when there is none. */
export async function withFolderOf<Result>(
  toplevel: string,
  path: string,
  create: boolean,
  work: (folder: OpenFolder | undefined, name: string) => Promise<Result> | Result,
): Promise<Result> {
  const names = path.split("/");
  const name = names.pop() ?? "";
  const folder = openTargetFolder(toplevel, names, create);
  try {
    return await work(folder, name);
  } finally {
    folder?.close();
  }
}
