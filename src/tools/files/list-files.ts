import { z } from "zod";
import type { CallSubjects } from "../../contracts/judge-by-rules.ts";
import { resolveInside } from "../../workspaces/resolve-inside.ts";
import { type FolderEntry, walkFolder, walkTree } from "../../workspaces/walk-tree.ts";
import { readsFiles } from "../exposure-of.ts";
import { defineTool, type ToolContext } from "../tool.ts";
import {
  deniedPaths,
  describeFileError,
  lineSafeName,
  pathsAbout,
  requireWorkspace,
} from "./file-call.ts";

/** Folders that recursive lists do not enter; they are listed when the path names them. */
const skipped: ReadonlySet<string> = new Set([".git", "node_modules"]);

export const listFiles = defineTool({
  name: "list_files",
  description:
    "List what is in a folder of the workspace, sorted, as paths relative to the workspace's root. " +
    "Folders end in /. With recursive, everything below; .git and node_modules are then left " +
    "closed unless you name them.",
  ...readsFiles,
  native: "find",
  input: z.strictObject({
    path: z.string().min(1).max(4096).default(".").describe("Relative to the workspace's root."),
    recursive: z.boolean().default(false).describe("Everything below as well."),
    limit: z.int().min(1).max(5000).default(500).describe("How many entries at most."),
  }),
  preflight({ path }, context) {
    resolveInside(requireWorkspace(context), path);
  },
  about: ({ path, recursive }, context) => listAbout(path, recursive, context),
  async execute({ path, recursive, limit }, context) {
    const workspace = requireWorkspace(context);
    const denied = deniedPaths("list_files", context);
    const found: FolderEntry[] = [];
    let isCapped = false;
    try {
      const descend = ({ name }: FolderEntry) => recursive && !skipped.has(name);
      const { signal } = context;
      for await (const entry of walkFolder(workspace, path, { descend, signal })) {
        if (denied.has(entry.path)) continue;
        isCapped = found.length === limit;
        if (isCapped) break;
        found.push(entry);
      }
    } catch (error) {
      return describeFileError(error, path);
    }
    if (found.length === 0 && denied.note === "") {
      return `${JSON.stringify(path)} is an empty folder.`;
    }
    const lines = found.map(renderEntry).sort((left, right) => (left < right ? -1 : 1));
    if (isCapped) {
      lines.push(
        `[${limit} entries shown, nearest first, and there are more. List a folder by its path, ` +
          "or raise limit.]",
      );
    }
    if (denied.note !== "") lines.push(denied.note);
    return lines.join("\n");
  },
});

/** All paths that the list would show, so that rules about a folder hold for a list from above it. */
function listAbout(path: string, recursive: boolean, context: ToolContext): Promise<CallSubjects> {
  const workspace = requireWorkspace(context);
  const paths: string[] = [];
  const enter = () => (name: string, entryPath: string, isFolder: boolean) => {
    paths.push(entryPath);
    return recursive && isFolder && !skipped.has(name);
  };
  const named = function* () {
    for (const _ of walkTree(workspace, path, { enter })) {
      yield null;
      yield* paths.splice(0);
    }
    yield* paths;
  };
  return pathsAbout(path, named(), deniedPaths("list_files", context), context);
}

function renderEntry({ path, kind, target }: FolderEntry): string {
  const name = lineSafeName(path);
  if (kind === "folder") return `${name}/`;
  if (kind === "link") return `${name} -> ${lineSafeName(target ?? "?")}`;
  return kind === "file" ? name : `${name} (not a regular file)`;
}
