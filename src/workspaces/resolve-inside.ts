import { accessSync, constants, lstatSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { isBelow } from "../contracts/write-roots.ts";
import { CallDenied } from "../ports/mandate-error.ts";
import type { WorkspaceBinding } from "./bind-workspace.ts";

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

interface NearestRealPath {
  /** The deepest part that exists, links resolved. */
  readonly existing: string;
  /** The names below it that do not exist yet. */
  readonly missing: readonly string[];
  /** `existing` and `missing` together. */
  readonly path: string;
  /** A link that points at nothing: creating "through" it would create wherever it points. */
  readonly dangling: boolean;
}

/**
 * Resolves links as far as the path exists, so that a file about to be created is judged by where
 * it would really land. Other errors of the file system (a loop, no permission) are thrown as is.
 */
export function nearestRealPath(absolute: string): NearestRealPath {
  const missing: string[] = [];
  let candidate = absolute;
  for (;;) {
    try {
      const existing = realpathSync.native(candidate);
      return { existing, missing, path: join(existing, ...missing), dangling: false };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
    if (lstatSync(candidate, { throwIfNoEntry: false })?.isSymbolicLink() === true) {
      return { existing: candidate, missing, path: join(candidate, ...missing), dangling: true };
    }
    const parent = dirname(candidate);
    missing.unshift(basename(candidate));
    candidate = parent;
  }
}

/** Which part of the boundary said no; the gate puts it into `agent.tool_denied`. */
type PathRule =
  | "no_workspace"
  | "path_malformed"
  | "path_outside_workspace"
  | "path_forbidden"
  | "path_link"
  | "path_hard_link"
  | "path_not_regular"
  | "path_changed"
  | "path_protected"
  | "path_outside_write_roots"
  | "path_not_owned"
  | "workspace_read_only";

/** A path that a tool call may not touch: policy, not a fault of the file system. */
export class PathDenied extends CallDenied<PathRule> {
  constructor(rule: PathRule, message: string, options?: ErrorOptions) {
    super(rule, message, options);
    this.name = "PathDenied";
  }
}

/** Whether this process may write at a place, or create it: by its rights, and by its file system. */
export function isWritable(path: string): boolean {
  try {
    accessSync(nearestRealPath(path).existing, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
