import { lstatSync } from "node:fs";
import { dirname, join } from "node:path";
import { protectedPaths } from "./protected-paths.ts";

/** At the root of every workspace, whatever is around them; by what Mandate itself reads. */
const always = [".mandate", "mandate.yaml", "profiles"];
const folders = protectedPaths.flatMap(({ path, isFolder }) => (isFolder === true ? [path] : []));

/**
 * The places at a workspace's root where an empty folder can stand while a command runs, so that it
 * cannot create something else there. Only where the folder around is there: what else would be
 * covered with it is not protected. What has no place here is found when the command has ended.
 */
export function standInsOf(root: string): readonly string[] {
  const places = folders
    .map((path) => join(root, path))
    .filter((place) => isFolder(dirname(place)));
  return [...always.map((name) => join(root, name)), ...places];
}

function isFolder(place: string): boolean {
  try {
    return lstatSync(place, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch {
    return false;
  }
}
