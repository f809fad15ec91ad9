import type { Route } from "./route.ts";

/** Words before parameters: `/inbox/cursor` is never taken for the item called "cursor". */
export function sortRoutes(routes: readonly Route[]): readonly Route[] {
  return routes.toSorted((a, b) => compare(keyOf(a.path), keyOf(b.path)));
}

function keyOf(path: string): string {
  // Behind every character that a word can have.
  return path.replace(/\/:\w+/g, "/\u{ffff}");
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
