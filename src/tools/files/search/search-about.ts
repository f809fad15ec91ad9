import { statSync } from "node:fs";
import type { CallSubjects } from "../../../contracts/judge-by-rules.ts";
import { resolveInside } from "../../../workspaces/resolve-inside.ts";
import type { ToolContext } from "../../tool.ts";
import { type DeniedPaths, deniedPaths } from "../denied-paths.ts";
import { pathAbout } from "../path-about.ts";
import { pathsAbout } from "../paths-about.ts";
import { globMatcher } from "../pattern/glob-matcher.ts";
import { requireWorkspace } from "../require-workspace.ts";
import { type FileSelection, selectFiles } from "./select-files.ts";

export interface SearchedPart {
  readonly path: string;
  readonly glob?: string | undefined;
  readonly include_ignored: boolean;
}

/**
 * What a search is about: every file it would look at. A rule that keeps a folder from being
 * searched then holds as well when somebody searches the folder above it.
 */
export async function searchAbout(
  tool: string,
  part: SearchedPart,
  context: ToolContext,
): Promise<CallSubjects> {
  const workspace = requireWorkspace(context);
  const { path } = part;
  if (!statSync(resolveInside(workspace, path).path).isDirectory()) return pathAbout(path, context);
  const denied = deniedPaths(tool, context);
  const files = selectFiles(workspace, selectionOf(part, denied));
  return pathsAbout(path, pathsOf(files), denied, context);
}

export function selectionOf(
  { path, glob, include_ignored: includeIgnored }: SearchedPart,
  denied: DeniedPaths,
): FileSelection {
  const only = glob === undefined ? {} : { glob: globMatcher(glob) };
  return { path, includeIgnored, isDenied: (file) => denied.has(file), ...only };
}

function* pathsOf(entries: Iterable<{ readonly path: string } | null>): Generator<string | null> {
  for (const entry of entries) yield entry?.path ?? null;
}
