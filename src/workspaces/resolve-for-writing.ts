import { basename, dirname, join, relative, sep } from "node:path";
import { isBelow } from "../contracts/write-roots.ts";
import { findHidden, visibleJson } from "../ports/visible-text.ts";
import type { Ownership, WorkspaceBinding } from "./bind-workspace.ts";
import { isOwned } from "./git/integration/match-ownership.ts";
import { isFolder, isTemporaryName } from "./open-file.ts";
import { gitDirectoryAround, protectionOf } from "./protected/protection.ts";
import { absoluteInside, PathDenied, resolveInside } from "./resolve-inside.ts";

export interface WritablePlace {
  /** The deepest folder on the way that exists. */
  readonly existing: string;
  /** The folders below it that have to be created. */
  readonly missing: readonly string[];
  readonly file: string;
}

/**
 * Where a file would be written. Links in parent folders are resolved; the file's own name is not,
 * so that a link in its place is noticed. Creates nothing.
 */
export function resolveForWriting(binding: WorkspaceBinding, asked: string): WritablePlace {
  const absolute = absoluteInside(binding, asked);
  // Checked first, so that a read-only agent learns nothing else about the path.
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

/**
 * The only function that decides whether a file may be written. `path` is absolute with links
 * resolved (see `resolveInside`); `asked` is the caller's spelling, for the message.
 */
export function ensureWorkspaceWriteAccess(
  binding: WorkspaceBinding,
  path: string,
  asked: string = path,
): void {
  if (!binding.allowWrites) {
    throw new PathDenied(
      "workspace_read_only",
      "This workspace is read-only for you. Put what you wanted to write into your answer instead.",
    );
  }
  if (!binding.writeRoots.some((root) => isBelow(path, root))) {
    const roots = binding.writeRoots.map((root) => `"${relative(binding.root, root) || "."}"`);
    throw new PathDenied(
      "path_outside_write_roots",
      `"${asked}" may not be written. ` +
        (roots.length === 0
          ? "No folder here may be."
          : `You may write below ${roots.join(", ")}.`),
    );
  }
  const foreign = binding.owned?.find((owned) => !owns(owned, relative(binding.root, path)));
  if (foreign !== undefined) {
    throw new PathDenied(
      "path_not_owned",
      `"${asked}" is not yours to change: you own ${foreign.patterns.join(", ")}. Change only ` +
        "that, and say in your answer what else has to change.",
    );
  }
  const problem = protectionProblem(binding, path);
  if (problem !== undefined) {
    throw new PathDenied(
      "path_protected",
      `"${asked}" cannot be written by agents: ${problem}. If it must change, say so in your ` +
        "answer and a person will do it.",
    );
  }
}

function owns({ below, patterns }: Ownership, path: string): boolean {
  return isOwned(patterns, join(below, path).split(sep).join("/"));
}

function protectionProblem({ guarded = [], root }: WorkspaceBinding, path: string) {
  const below = relative(root, path);
  const protection = protectionOf(root, below);
  if (protection !== undefined) return protection.reason;
  if (guarded.some((place) => isBelow(path, place))) return "Mandate obeys it at its next start";
  if (isTemporaryName(basename(path))) return "Mandate uses such names for temporary files";
  const repository = gitDirectoryAround(root, [path]);
  if (repository === undefined) return undefined;
  return `git takes "${relative(root, repository) || "."}" with it for a repository, and obeys what is there`;
}

/** Whether a name holds a control character or a bidirectional control, which a terminal obeys. */
export function steersTerminal(name: string): boolean {
  return /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u.test(name);
}

/** Whether a path holds a character that people cannot see, including a tab or a line break. */
export function hidesInName(path: string): boolean {
  return findHidden(path) !== undefined || /[\t\n]/.test(path);
}
