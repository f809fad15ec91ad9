import { isAbsolute, normalize, sep } from "node:path";

/**
 * Whether `path` is `root` or lies below it, by path segments: `/srv/app-evil` is not below
 * `/srv/app`. Both must be absolute; links are resolved by the caller, who has the file system.
 */
export function isBelow(path: string, root: string): boolean {
  if (!isAbsolute(path) || !isAbsolute(root)) return false;
  return asFolder(path).startsWith(asFolder(root));
}

/** The path with a separator at its end: `/a` and `/a/` are the same folder. */
function asFolder(path: string): string {
  const normal = normalize(path);
  return normal.endsWith(sep) ? normal : normal + sep;
}

/** The folders that lie below a root of both lists. */
export function intersectRoots(
  left: readonly string[],
  right: readonly string[],
): readonly string[] {
  if (left === right) return left;
  const common = new Set<string>();
  for (const one of left) {
    for (const other of right) {
      if (isBelow(one, other)) common.add(one);
      else if (isBelow(other, one)) common.add(other);
    }
  }
  return [...common];
}

export function rootsWithin(inner: readonly string[], outer: readonly string[]): boolean {
  return inner === outer || inner.every((path) => outer.some((root) => isBelow(path, root)));
}
