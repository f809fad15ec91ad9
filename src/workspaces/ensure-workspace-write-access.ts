import { relative, sep } from "node:path";
import { isBelow } from "../contracts/write-roots.ts";
import { isObeyedName } from "./obeyed-names.ts";
import { PathDenied } from "./path-denied.ts";
import type { WorkspaceBinding } from "./workspace-binding.ts";

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
  const isGuarded = binding.guarded?.some((place) => isBelow(path, place)) === true;
  if (isGuarded || isProtected(relative(binding.root, path).split(sep))) {
    throw new PathDenied(
      "path_protected",
      `"${asked}" steers git or Mandate itself and is not yours to change. If it must change, ` +
        "say so in your answer and a person will do it.",
    );
  }
}

/**
 * Files that other programs obey: writing them is a way out of the contract, also where they did
 * not exist before. Compared without case, as some file systems do.
 */
export function isProtected(segments: readonly string[]): boolean {
  if (segments.some(isObeyedName)) return true;
  const [folder = "", file = ""] = segments.map((segment) => segment.toLowerCase());
  return segments.length === 2 && folder === "profiles" && file.endsWith(".md");
}
