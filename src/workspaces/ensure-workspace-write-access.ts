import { basename, join, relative, sep } from "node:path";
import { isBelow } from "../contracts/write-roots.ts";
import { isOwned } from "./git/integration/match-ownership.ts";
import { PathDenied } from "./path-denied.ts";
import { gitDirectoryAround } from "./protected/git-directory.ts";
import { protectionOf } from "./protected/protection.ts";
import { isTemporaryName } from "./temporary-name.ts";
import type { Ownership, WorkspaceBinding } from "./workspace-binding.ts";

/**
 * The one place that says whether a file may be written. `path` is absolute with links resolved
 * (see `resolveInside`); `asked` is how the caller wrote it, for the message.
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
  if (isTemporaryName(basename(path))) return "Mandate keeps the name for files that it replaces";
  const repository = gitDirectoryAround(root, [path]);
  if (repository === undefined) return undefined;
  return `git takes "${relative(root, repository) || "."}" with it for a repository, and obeys what is there`;
}
