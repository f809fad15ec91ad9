import { isAbsolute, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { realFolder } from "../../files.ts";

/** More than anybody has open; the list comes from the client. */
const mostRoots = 100;

/**
 * The folders behind a client's roots, as real paths: what is no file URL, does not exist or is no
 * folder is left out, so a client cannot make us work in a place that it only names.
 */
export async function foldersOfRoots(uris: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(uris.slice(0, mostRoots).map(folderOfRoot));
  return [...new Set(found.flatMap((folder) => folder ?? []))];
}

async function folderOfRoot(uri: string): Promise<string | undefined> {
  if (!/^file:\/\//i.test(uri) || uri.length > 8192) return undefined;
  try {
    return await realFolder(fileURLToPath(uri));
  } catch {
    // Another host's, or no path at all.
    return undefined;
  }
}

/** What of the wanted folders lies in the allowed ones; a wanted one around an allowed one shrinks. */
export function narrowFolders(
  wanted: readonly string[],
  allowed: readonly string[] | undefined,
): readonly string[] {
  if (allowed === undefined) return wanted;
  const shared = wanted.flatMap((folder) => {
    if (allowed.some((outer) => isInside(outer, folder))) return folder;
    return allowed.filter((inner) => isInside(folder, inner));
  });
  return [...new Set(shared)];
}

/** Segment by segment: /srv/app-evil is not inside /srv/app. */
export function isInside(root: string, path: string): boolean {
  const rest = relative(root, path);
  return rest === "" || (rest !== ".." && !rest.startsWith(`..${sep}`) && !isAbsolute(rest));
}
