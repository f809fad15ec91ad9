import { readdirSync } from "node:fs";
import { join } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";
import { nearestRealPath } from "../nearest-real-path.ts";
import { firstBelow, stepInto, type Trail, trailOf } from "./protection.ts";

/** Where the links at a workspace's root lead, inside it, that are in the place of something protected. */
export function linkedPlaces(root: string): readonly string[] {
  return linkedIn(root, trailOf(root)).filter((place) => place !== root && isBelow(place, root));
}

function linkedIn(folder: string, trail: Trail): readonly string[] {
  const places: string[] = [];
  for (const entry of entriesOf(folder)) {
    const step = stepInto(trail, entry.name);
    const isWay = firstBelow(step.trail) !== undefined;
    if (step.protection === undefined && !isWay) continue;
    const place = join(folder, entry.name);
    if (entry.isSymbolicLink()) places.push(...realPathOf(place));
    else if (entry.isDirectory() && isWay) places.push(...linkedIn(place, step.trail));
  }
  return places;
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

function realPathOf(place: string): readonly string[] {
  try {
    return [nearestRealPath(place).path];
  } catch {
    return [];
  }
}
