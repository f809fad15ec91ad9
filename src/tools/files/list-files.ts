import { z } from "zod";
import { resolveInside } from "../../workspaces/resolve-inside.ts";
import { type FolderEntry, walkFolder } from "../../workspaces/walk-folder.ts";
import { defineTool } from "../tool.ts";
import { describeFileError } from "./describe-file-error.ts";
import { oneLine } from "./one-line.ts";
import { pathAbout } from "./path-about.ts";
import { requireWorkspace } from "./require-workspace.ts";

/** Large, and hardly ever what was asked for; listed when they are named by path. */
const skipped: ReadonlySet<string> = new Set([".git", "node_modules"]);

export const listFiles = defineTool({
  name: "list_files",
  description:
    "List what is in a folder of the workspace, sorted, as paths relative to the workspace's root. " +
    "Folders end in /. With recursive, everything below; .git and node_modules are then left " +
    "closed unless you name them.",
  effect: "read",
  idempotent: true,
  scopes: ["files:read"],
  input: z.strictObject({
    path: z.string().min(1).max(4096).default(".").describe("Relative to the workspace's root."),
    recursive: z.boolean().default(false),
    limit: z.int().min(1).max(5000).default(500).describe("How many entries at most."),
  }),
  preflight({ path }, context) {
    resolveInside(requireWorkspace(context), path);
  },
  about: ({ path }, context) => pathAbout(path, context),
  async execute({ path, recursive, limit }, context) {
    const workspace = requireWorkspace(context);
    const found: FolderEntry[] = [];
    let isCapped = false;
    try {
      const descend = ({ name }: FolderEntry) => recursive && !skipped.has(name);
      const { signal } = context;
      for await (const entry of walkFolder(workspace, path, { descend, signal })) {
        isCapped = found.length === limit;
        if (isCapped) break;
        found.push(entry);
      }
    } catch (error) {
      return describeFileError(error, path);
    }
    if (found.length === 0) return `${JSON.stringify(path)} is an empty folder.`;
    const lines = found.map(renderEntry).sort((left, right) => (left < right ? -1 : 1));
    if (isCapped) {
      lines.push(
        `[${limit} entries shown, nearest first, and there are more. List a folder by its path, ` +
          "or raise limit.]",
      );
    }
    return lines.join("\n");
  },
});

function renderEntry({ path, kind, target }: FolderEntry): string {
  const name = oneLine(path);
  if (kind === "folder") return `${name}/`;
  if (kind === "link") return `${name} -> ${oneLine(target ?? "?")}`;
  return kind === "file" ? name : `${name} (not a regular file)`;
}
