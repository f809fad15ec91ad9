import { lstatSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";

export interface NearestRealPath {
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
