import { statSync } from "node:fs";
import type { CallSubjects } from "../../../contracts/judge-by-rules.ts";
import { resolveInside } from "../../../workspaces/resolve-inside.ts";
import type { ToolContext } from "../../tool.ts";
import { pathAbout } from "../path-about.ts";
import { globMatcher } from "../pattern/glob-matcher.ts";
import { requireWorkspace } from "../require-workspace.ts";
import { selectFiles } from "./select-files.ts";

/** More than this many files cannot be judged one by one: rules then take the stricter reading. */
const mostFiles = 2000;

/**
 * What a search is about: every file it would look at. A rule that keeps a folder from being
 * searched then holds as well when somebody searches the folder above it.
 */
export function searchAbout(
  {
    path,
    glob,
    include_ignored,
  }: { path: string; glob?: string | undefined; include_ignored: boolean },
  context: ToolContext,
): CallSubjects {
  const workspace = requireWorkspace(context);
  if (!statSync(resolveInside(workspace, path).path).isDirectory()) return pathAbout(path, context);
  const values: string[] = [];
  const selection = {
    path,
    includeIgnored: include_ignored,
    ...(glob === undefined ? {} : { glob: globMatcher(glob) }),
  };
  for (const entry of selectFiles(workspace, selection)) {
    if (entry !== null && values.push(entry.path) > mostFiles)
      throw new RangeError("too many files to be named");
  }
  return values.length === 0 ? pathAbout(path, context) : { kind: "path", values };
}
