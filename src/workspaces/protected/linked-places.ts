import { readdirSync, readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";
import { realPathOr } from "../../files.ts";
import { linksOnTheWay } from "../processes/links-on-the-way.ts";
import { firstBelow, stepInto, type Trail, trailOf } from "./protection.ts";

/** Where the links at a workspace's root lead, inside it, that are in the place of something protected. */
export function linkedPlaces(root: string): readonly string[] {
  return protectedLinks(root, trailOf(root)).map(linkTargetOf).filter(isInside(root));
}

/** The same with every link on the way: replaced by another, it would lead elsewhere. */
export function linkedWays(root: string): readonly string[] {
  const links = protectedLinks(root, trailOf(root));
  return links.flatMap((link) => [linkTargetOf(link), ...linksBehind(link)]).filter(isInside(root));
}

function isInside(root: string): (place: string) => boolean {
  return (place) => place !== root && isBelow(place, root);
}

function protectedLinks(folder: string, trail: Trail): readonly string[] {
  const places: string[] = [];
  for (const entry of entriesOf(folder)) {
    const step = stepInto(trail, entry.name);
    const isWay = firstBelow(step.trail) !== undefined;
    if (step.protection === undefined && !isWay) continue;
    const place = join(folder, entry.name);
    if (entry.isSymbolicLink()) places.push(place);
    else if (entry.isDirectory() && isWay) places.push(...protectedLinks(place, step.trail));
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

/** Where a link leads, or would lead if something were there. */
export function linkTargetOf(link: string): string {
  try {
    return realpathSync(link);
  } catch {
    return readLink(link);
  }
}

/** The links that a link leads through, itself left out; folders on the way may be some. */
export function linksBehind(link: string): readonly string[] {
  const itself = join(realPathOr(dirname(link)), basename(link));
  return linksOnTheWay(itself).filter((passed) => passed !== itself);
}

function readLink(link: string): string {
  try {
    return resolve(dirname(link), readlinkSync(link));
  } catch {
    return link;
  }
}
