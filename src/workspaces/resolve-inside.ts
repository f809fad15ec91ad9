import { accessSync, constants, lstatSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { isBelow } from "../contracts/write-roots.ts";
import { CallDenied } from "../ports/mandate-error.ts";

const maximumLength = 4096;

/** What defines the boundary of a workspace. */
export interface Boundary {
  readonly root: string;
  readonly forbidden?: readonly string[];
}

/**
 * The real location of a path from a model: relative to the root, with links resolved as far as the
 * path exists. Throws unless it is below the root. The tree can change afterwards, so the opened
 * file is checked again by its descriptor. `asked` is the model's spelling, for the message.
 */
export function resolveInside(
  binding: Boundary,
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

/** The lexical part of the check, without the file system. */
export function absoluteInside(binding: Boundary, path: string, asked: string = path): string {
  if (path.includes("\0") || !path.isWellFormed()) {
    throw new PathDenied("path_malformed", "The path contains characters that no path has.");
  }
  if (path.length > maximumLength) throw tooLong();
  const absolute = resolve(binding.root, path);
  requireReachable(binding, absolute, asked);
  return absolute;
}

/** Throws unless a real path is below the root and outside every forbidden folder. */
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
  /** The whole path: `existing` and `missing` together. */
  readonly path: string;
  /** A link to nothing: creating a file "through" it would create its target. */
  readonly dangling: boolean;
}

/**
 * Resolves links as far as the path exists, so that a new file is checked at its real location.
 * Other file system errors (a loop, no permission) are thrown unchanged.
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

/** The rule that denied a path; the gate records it in `agent.tool_denied`. */
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

/** A path that a tool call may not access: a policy decision, not a file system error. */
export class PathDenied extends CallDenied<PathRule> {
  constructor(rule: PathRule, message: string, options?: ErrorOptions) {
    super(rule, message, options);
    this.name = "PathDenied";
  }
}

/** Whether this process may write to a path or create it, by permissions and by file system. */
export function isWritable(path: string): boolean {
  try {
    accessSync(nearestRealPath(path).existing, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
