import { basename } from "node:path";
import { foldedName } from "../../protected/folded-name.ts";

const names = [".git", ".mandate", "mandate.yaml"];

/**
 * What git and Mandate obey is never left to a comparison afterwards: where a link is in its place,
 * the folder around it is closed. Other programs' files are links more often, and stay usable.
 */
export function mustBeMounted(place: string): boolean {
  return names.includes(foldedName(basename(place)));
}
