import { z } from "zod";
import { resolveInside } from "../../workspaces/resolve-inside.ts";
import type { TreeEntry } from "../../workspaces/walk-tree.ts";
import { readsFiles } from "../exposure-of.ts";
import { defineTool } from "../tool.ts";
import { deniedPaths, describeFileError, lineSafeName, requireWorkspace } from "./file-call.ts";
import { PatternRefused } from "./pattern/pattern-reader.ts";
import { Pace } from "./search/pace.ts";
import { searchAbout, selectFiles, selectionOf } from "./search/select-files.ts";

/**
 * Results are sorted by path unless the call asks for the newest first: by path, the same tree gives
 * the same answer on every machine, and the search stops as soon as it has enough files.
 */
export const globFiles = defineTool({
  name: "glob",
  description:
    "Find files of the workspace by name. * and ? stay within a name, ** goes through folders, " +
    "{a,b} and [a-z] choose. A pattern without / is looked for in every folder, one with / counts " +
    "from path. Hidden files are found; .git, node_modules and what .gitignore names are not.",
  ...readsFiles,
  native: "find",
  input: z.strictObject({
    pattern: z
      .string()
      .min(1)
      .max(1000)
      .describe('Such as "*.test.ts", "src/**/*.{ts,tsx}" or "/*.json" (not in folders).'),
    path: z.string().min(1).max(4096).default(".").describe("The folder to look in."),
    sort: z.enum(["path", "modified"]).default("path").describe("modified: the newest first."),
    limit: z.int().min(1).max(5000).default(200).describe("How many files at most."),
    include_ignored: z.boolean().default(false).describe("Also what .gitignore leaves out."),
  }),
  preflight({ path }, context) {
    resolveInside(requireWorkspace(context), path);
  },
  about: ({ pattern: glob, path, include_ignored }, context) =>
    searchAbout("glob", { glob, path, include_ignored }, context),
  async execute({ pattern, path, sort, limit, include_ignored }, context) {
    const workspace = requireWorkspace(context);
    const denied = deniedPaths("glob", context);
    const pace = new Pace(context.signal);
    const found: TreeEntry[] = [];
    const withTimes = sort === "modified";
    try {
      const selection = selectionOf({ path, glob: pattern, include_ignored }, denied);
      for (const entry of selectFiles(workspace, { ...selection, withTimes })) {
        if (pace.isOver) await pace.pause();
        if (entry === null) continue;
        found.push(entry);
        // One more than the limit shows that there are more. By time, every file has to be seen.
        if (!withTimes && found.length > limit) break;
      }
    } catch (error) {
      if (error instanceof PatternRefused) return { text: error.message, isError: true };
      return describeFileError(error, path);
    }
    if (found.length === 0) {
      const more = include_ignored ? "" : " What .gitignore leaves out was not looked at.";
      const text = `No file below ${JSON.stringify(path)} is like ${JSON.stringify(pattern)}.`;
      return [text + more, denied.note].join("\n").trimEnd();
    }
    // Sorting is stable: what changed at the same time stays in the order of paths.
    if (withTimes) found.sort((left, right) => (right.modified ?? 0) - (left.modified ?? 0));
    const lines = found.slice(0, limit).map(renderEntry);
    if (found.length > limit) {
      lines.push(
        `[${limit} files shown, and there are more. Narrow pattern or path, or raise limit.]`,
      );
    }
    if (denied.note !== "") lines.push(denied.note);
    return lines.join("\n");
  },
});

function renderEntry({ path, kind, target }: TreeEntry): string {
  return kind === "link"
    ? `${lineSafeName(path)} -> ${lineSafeName(target ?? "?")}`
    : lineSafeName(path);
}
