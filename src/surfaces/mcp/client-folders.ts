import { isAbsolute, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { realFolder } from "../../files.ts";

/** Most roots of a client, whose list is untrusted. */
const mostRoots = 100;

/**
 * The folders of a client's roots, as real paths. Roots that are not file URLs of existing folders
 * are left out.
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
    // The URL names another host, or is not a path.
    return undefined;
  }
}

/**
 * The intersection of wanted and allowed folders: a wanted folder that contains an allowed one
 * becomes the allowed one.
 */
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

/** Compares whole segments: /srv/app-evil is not inside /srv/app. */
export function isInside(root: string, path: string): boolean {
  const rest = relative(root, path);
  return rest === "" || (rest !== ".." && !rest.startsWith(`..${sep}`) && !isAbsolute(rest));
}
