import { basename, dirname, join } from "node:path";
import { visibleJson } from "../ports/visible-text.ts";
import { ensureWorkspaceWriteAccess } from "./ensure-workspace-write-access.ts";
import { hidesInName } from "./hidden-name.ts";
import { isFolder } from "./open-file.ts";
import { PathDenied } from "./path-denied.ts";
import { absoluteInside, resolveInside } from "./resolve-inside.ts";
import type { WorkspaceBinding } from "./workspace-binding.ts";

export interface WritablePlace {
  /** The deepest folder on the way that exists. */
  readonly existing: string;
  /** The folders below it that have to be created. */
  readonly missing: readonly string[];
  readonly file: string;
}

/**
 * Where a file would be written. Links in the folders above are resolved; the file's own name is
 * not, since a link in its place is to be seen as one. Creates nothing.
 */
export function resolveForWriting(binding: WorkspaceBinding, asked: string): WritablePlace {
  const absolute = absoluteInside(binding, asked);
  // Said first, so that a read-only agent learns nothing else about the path.
  if (!binding.allowWrites) ensureWorkspaceWriteAccess(binding, absolute, asked);
  if (absolute === binding.root) throw isFolder(asked);
  if (hidesInName(asked)) {
    throw new PathDenied(
      "path_malformed",
      `${visibleJson(asked)} has a control character or another hidden character in its name. Use a name that people can read.`,
    );
  }
  const { existing, missing, path } = resolveInside(binding, dirname(absolute), asked);
  const file = basename(absolute);
  ensureWorkspaceWriteAccess(binding, join(path, file), asked);
  return { existing, missing, file };
}
