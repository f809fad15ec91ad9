import { resolve } from "node:path";
import { isBelow } from "../contracts/write-roots.ts";
import { type NearestRealPath, nearestRealPath } from "./nearest-real-path.ts";
import { PathDenied } from "./path-denied.ts";
import type { WorkspaceBinding } from "./workspace-binding.ts";

const maximumLength = 4096;

/** What says where a workspace ends. */
export type Boundary = Pick<WorkspaceBinding, "root" | "forbidden">;

/**
 * Where a path from a model really leads: relative paths count from the root, links are resolved
 * as far as anything exists, and the result lies below the root or this throws. It says where to
 * look; what is then opened is checked again by its descriptor, since the tree can change. `asked`
 * is how the model wrote it, for the message.
 */
export function resolveInside(
  binding: WorkspaceBinding,
  path: string,
  asked: string = path,
): NearestRealPath {
  const absolute = absoluteInside(binding, path, asked);
  let place: NearestRealPath;
  try {
    place = nearestRealPath(absolute);
  } catch (cause) {
    throw denyUnresolvable(asked, cause) ?? cause;
  }
  if (place.dangling) {
    throw new PathDenied(
      "path_link",
      `"${asked}" goes through a symbolic link that points at nothing. Use another path.`,
    );
  }
  requireReachable(binding, place.path, asked);
  return place;
}

/** The lexical half: no file system yet. */
export function absoluteInside(
  binding: WorkspaceBinding,
  path: string,
  asked: string = path,
): string {
  if (path.includes("\0") || !path.isWellFormed()) {
    throw new PathDenied("path_malformed", "The path contains characters that no path has.");
  }
  if (path.length > maximumLength) throw tooLong();
  const absolute = resolve(binding.root, path);
  requireReachable(binding, absolute, asked);
  return absolute;
}

/** Throws unless a real place lies below the root and outside every forbidden folder. */
export function requireReachable(binding: Boundary, place: string, asked: string): void {
  if (!isBelow(place, binding.root)) {
    throw new PathDenied(
      "path_outside_workspace",
      `"${asked}" leads outside the workspace. Use a path relative to the workspace's root, ` +
        'such as "src/main.ts"; list_files shows what there is.',
    );
  }
  if (isForbidden(binding, place)) {
    throw new PathDenied(
      "path_forbidden",
      `"${asked}" belongs to Mandate itself and cannot be opened from inside a workspace.`,
    );
  }
}

export function isForbidden(binding: Boundary, place: string): boolean {
  return binding.forbidden?.some((folder) => isBelow(place, folder)) === true;
}

function denyUnresolvable(asked: string, cause: unknown): PathDenied | undefined {
  const { code } = cause as NodeJS.ErrnoException;
  if (code === "ENAMETOOLONG") return tooLong();
  if (code !== "ELOOP") return undefined;
  return new PathDenied("path_link", `"${asked}" goes through symbolic links in a circle.`);
}

function tooLong(): PathDenied {
  return new PathDenied("path_malformed", "The path is too long. Use a shorter one.");
}
