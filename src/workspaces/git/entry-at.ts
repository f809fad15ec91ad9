import { lstatSync, type Stats } from "node:fs";

/** What is at a path, links not followed; undefined when nothing is, also below a file. */
export function entryAt(path: string | Buffer): Stats | undefined {
  try {
    return lstatSync(path);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}
