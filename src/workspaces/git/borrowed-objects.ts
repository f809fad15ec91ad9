import { lstatSync, readFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { realFolderSync } from "../../files.ts";

const maximumFolders = 32;
const maximumBytes = 65_536;

/**
 * The object folder of a repository and those that it borrows from in turn, as one flat list: git
 * follows such a chain only five steps, and a copy of a copy would run into that.
 */
export function borrowedObjects(folder: string): readonly string[] {
  const found: string[] = [];
  const waiting = [folder];
  while (waiting.length > 0 && found.length < maximumFolders) {
    const next = realFolderSync(waiting.shift() ?? "");
    // A line break would be read as the next entry of the list this ends up in.
    if (next === undefined || found.includes(next) || next.includes("\n")) continue;
    found.push(next);
    for (const line of readAlternates(next)) {
      waiting.push(isAbsolute(line) ? line : join(next, line));
    }
  }
  return found;
}

function readAlternates(objects: string): readonly string[] {
  return readSmallFile(join(objects, "info", "alternates"))
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
}

/** A regular file's text; "" when there is none, or a link, or one that is suspiciously large. */
export function readSmallFile(path: string, maximum: number = maximumBytes): string {
  try {
    const stats = lstatSync(path);
    return stats.isFile() && stats.size <= maximum ? readFileSync(path, "utf8") : "";
  } catch {
    return "";
  }
}
