import { statSync } from "node:fs";
import { z } from "zod";
import { type Clock, systemClock } from "../../ports/clock.ts";
import type { WorkspaceBinding } from "../../workspaces/bind-workspace.ts";
import { openFile } from "../../workspaces/open-file.ts";
import type { Program } from "../../workspaces/processes/find-program.ts";
import { resolveInside } from "../../workspaces/resolve-inside.ts";
import { readsFiles } from "../exposure-of.ts";
import { defineTool, type Tool } from "../tool.ts";
import {
  type DeniedPaths,
  deniedPaths,
  describeFileError,
  lineSafeName,
  requireWorkspace,
} from "./file-call.ts";
import { LinePattern } from "./pattern/line-pattern.ts";
import { PatternRefused } from "./pattern/pattern-reader.ts";
import { Pace } from "./search/pace.ts";
import { renderMatches, SearchAnswer } from "./search/render-matches.ts";
import { findRipgrep } from "./search/ripgrep.ts";
import { type SearchableFile, searchTree } from "./search/search-tree.ts";
import { searchAbout, selectFiles, selectionOf } from "./search/select-files.ts";

const input = z.strictObject({
  pattern: z
    .string()
    .min(1)
    .max(2000)
    .refine((text) => text.isWellFormed(), "must not contain half of a surrogate pair")
    .describe("A regular expression, matched against each line."),
  path: z.string().min(1).max(4096).default(".").describe("The file or folder to search."),
  glob: z
    .string()
    .min(1)
    .max(1000)
    .optional()
    .describe('Only files like this: "*.ts" in any folder, "src/**/*.{ts,tsx}" below path.'),
  ignore_case: z.boolean().default(false).describe("Match letters of either case."),
  context: z.int().min(0).max(20).default(0).describe("Lines to show before and after each."),
  output: z
    .enum(["content", "files", "count"])
    .default("content")
    .describe("The lines, only the paths of their files, or the number of lines in each file."),
  limit: z.int().min(1).max(5000).default(200).describe("How many lines or files at most."),
  include_ignored: z.boolean().default(false).describe("Also what .gitignore leaves out."),
});

type Input = z.infer<typeof input>;

/** `locate` says where ripgrep is; without it the answers are the same and take longer. */
export function grepTool(locate: () => Promise<Program | null>, clock: Clock = systemClock): Tool {
  return defineTool({
    name: "grep",
    description:
      "Search the text files of the workspace for a regular expression, line by line. Answers are " +
      "ordered by path. Hidden files are searched; .git, node_modules, binary files, links and " +
      "what .gitignore names are not. No lookaround and no backreferences.",
    ...readsFiles,
    native: "find",
    input,
    preflight({ path }, context) {
      const workspace = requireWorkspace(context);
      const place = resolveInside(workspace, path).path;
      if (!isFolder(place)) openFile(workspace, path).close();
    },
    about: (asked, context) => searchAbout("grep", asked, context),
    async execute(asked, context) {
      const workspace = requireWorkspace(context);
      try {
        const denied = deniedPaths("grep", context);
        const pace = new Pace(context.signal);
        return await search({ workspace, asked, denied, ripgrep: await locate(), clock }, pace);
      } catch (error) {
        if (error instanceof PatternRefused) return { text: error.message, isError: true };
        return describeFileError(error, asked.path);
      }
    },
  });
}

interface Search {
  readonly workspace: WorkspaceBinding;
  readonly asked: Input;
  readonly denied: DeniedPaths;
  readonly ripgrep: Program | null;
  readonly clock: Clock;
}

async function search(request: Search, pace: Pace): Promise<string> {
  pace.signal.throwIfAborted();
  const { workspace, asked, denied, ripgrep, clock } = request;
  const { output, limit, context } = asked;
  const sought = {
    pattern: new LinePattern(asked.pattern, asked.ignore_case),
    files: filesOf(request),
    ripgrep,
    clock,
    // An extra match tells that there are more.
    most: () => (output === "content" ? answer.room + 1 : 1),
    countsAll: output === "count",
  };
  const answer = new SearchAnswer(limit);
  for await (const { path, file, lines, count } of searchTree(workspace, sought, pace)) {
    if (output === "files") answer.add(lineSafeName(path), true);
    else if (output === "count") answer.add(`${lineSafeName(path)}:${count}`, true);
    else {
      if (context > 0 && answer.found > 0) answer.add("--", false);
      const kept = lines.slice(0, answer.room);
      for (const { text, isMatch } of renderMatches(file.descriptor, path, kept, context)) {
        answer.add(text, isMatch);
      }
      answer.isCapped ||= kept.length < lines.length;
    }
    if (answer.isCapped) break;
  }
  if (answer.found === 0) return [describeNothing(asked), denied.note].join("\n").trimEnd();
  if (answer.lines.at(-1) === "--") answer.lines.pop();
  if (answer.isCapped) answer.lines.push(describeCap(asked, answer.found));
  if (denied.note !== "") answer.lines.push(denied.note);
  return answer.lines.join("\n");
}

function* filesOf({ workspace, asked, denied }: Search): Generator<SearchableFile | null> {
  const { path } = asked;
  const place = resolveInside(workspace, path).path;
  if (!isFolder(place)) {
    const file = openFile(workspace, path);
    file.close();
    if (!denied.has(file.path)) yield { path: file.path };
    return;
  }
  for (const entry of selectFiles(workspace, selectionOf(asked, denied))) {
    if (entry === null || entry.kind === "file") yield entry;
  }
}

function isFolder(place: string): boolean {
  return statSync(place, { throwIfNoEntry: false })?.isDirectory() === true;
}

function describeNothing({ path, glob, include_ignored }: Input): string {
  const where = glob === undefined ? "" : ` in files like ${JSON.stringify(glob)}`;
  const more = include_ignored ? "" : " What .gitignore leaves out was not searched.";
  return `No line below ${JSON.stringify(path)}${where} matches.${more}`;
}

function describeCap({ output }: Input, found: number): string {
  const what = output === "content" ? "matching lines" : "files";
  return `[${found} ${what} shown, and there are more. Narrow pattern, path or glob, or raise limit.]`;
}

/** The search of this machine: with ripgrep where there is one. */
export function createGrepFiles(clock?: Clock): Tool {
  return grepTool(findRipgrep, clock);
}
