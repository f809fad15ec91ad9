import { dirname } from "node:path";
import { isBelow } from "../../../contracts/write-roots.ts";

/**
 * At most so many places that enclose all the given ones: where there are more, the deepest are
 * taken together as the folder around them, up to the tops themselves.
 */
export function enclosePlaces(
  places: readonly string[],
  tops: readonly string[],
  maximum: number,
): readonly string[] {
  let enclosing = new Set(places);
  while (enclosing.size > maximum) {
    const deepest = Math.max(...sizesOf(enclosing, tops));
    if (deepest === 0) break;
    const raised = [...enclosing].map((place) =>
      depthOf(place, tops) === deepest ? dirname(place) : place,
    );
    enclosing = new Set(raised);
  }
  return withoutNested([...enclosing]);
}

/** Those that lie in no other one. */
function withoutNested(places: readonly string[]): readonly string[] {
  const kept: string[] = [];
  for (const place of [...places].sort((left, right) => left.length - right.length)) {
    if (!kept.some((above) => isBelow(place, above))) kept.push(place);
  }
  return kept;
}

function sizesOf(places: ReadonlySet<string>, tops: readonly string[]): readonly number[] {
  return [...new Set([...places].map((place) => depthOf(place, tops)))];
}

/** How many folders below the nearest top; a top cannot be raised any further. */
function depthOf(place: string, tops: readonly string[]): number {
  const top = tops.find((folder) => isBelow(place, folder));
  if (top === undefined || top === place) return 0;
  return place.slice(top.length).split("/").length - 1;
}
