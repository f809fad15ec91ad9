/**
 * The tools that read, search and edit files of the workspace. This file is what their calls have in
 * common: workspace, subjects for rules, denied paths, errors. Patterns, search and edits have folders.
 */

import { relative, sep } from "node:path";
import { type CallSubjects, judgeByRules } from "../../contracts/judge-by-rules.ts";
import { reasonOf } from "../../ports/message-of.ts";
import type { WorkspaceBinding } from "../../workspaces/bind-workspace.ts";
import { PathDenied, resolveInside } from "../../workspaces/resolve-inside.ts";
import type { ToolContext, ToolResult } from "../tool.ts";
import { Pace } from "./search/pace.ts";

/** The workspace of the calling delegation; a file tool cannot work without one. */
export function requireWorkspace(context: ToolContext): WorkspaceBinding {
  if (context.workspace !== null) return context.workspace;
  throw new PathDenied(
    "no_workspace",
    "You have no workspace, so there are no files to read or write. Answer from what you were given.",
  );
}

/** The real path, relative to the workspace's root: `./a/../b` and a link to b are both b. */
export function pathAbout(path: string, context: ToolContext): CallSubjects {
  const workspace = requireWorkspace(context);
  const place = relative(workspace.root, resolveInside(workspace, path).path);
  return { kind: "path", values: [place.split(sep).join("/") || "."] };
}

/** More paths than this are not judged one by one: rules that ask then take the stricter reading. */
const mostPaths = 10_000;

/**
 * The subjects of a call that reads a folder: all paths that it would show or read, without denied
 * ones. Where none is left, the folder itself is judged. At a null among the paths the call may
 * yield to the event loop.
 */
export async function pathsAbout(
  folder: string,
  paths: Iterable<string | null>,
  denied: DeniedPaths,
  context: ToolContext,
): Promise<CallSubjects> {
  const values: string[] = [];
  const pace = new Pace(context.signal);
  let count = 0;
  for (const path of paths) {
    if (pace.isOver) await pace.pause();
    if (path === null) continue;
    count += 1;
    if (count > mostPaths) {
      if (denied.mayAsk) throw new RangeError("too many files to be named");
      break;
    }
    if (!denied.has(path)) values.push(path);
  }
  return values.length === 0 ? pathAbout(folder, context) : { kind: "path", values };
}

/** The paths that a contract's rules deny to one tool, and what the tool's answers say of that. */
export interface DeniedPaths {
  has(path: string): boolean;
  /**
   * A line for the end of an answer; empty where no rule can deny. It is the same whether anything
   * was left out or not: otherwise patterns could be used to guess at names.
   */
  readonly note: string;
  /** Whether a person may have to be asked about a part of what a call is about. */
  readonly mayAsk: boolean;
}

/**
 * A call that reads many files is not refused because some of them are denied: it skips those, as if
 * they did not exist. So a rule about a folder also holds for a search that begins above it.
 */
export function deniedPaths(tool: string, { rules = [] }: ToolContext): DeniedPaths {
  const sets = rules
    .map((set) => set.filter((rule) => rule.tool === "*" || rule.tool === tool))
    .filter((set) => set.length > 0);
  const actions = sets.flat().map(({ action }) => action);
  const mayDeny = actions.includes("deny");
  return {
    has: (path) => mayDeny && judgeByRules(sets, tool, aboutPath(path)) === "deny",
    note: mayDeny ? "[What your rules deny was left out.]" : "",
    mayAsk: actions.includes("ask"),
  };
}

function aboutPath(path: string): CallSubjects {
  return { kind: "path", values: [path] };
}

/**
 * A file system error as a result that tells the model what to do next. Only the code is used: the
 * system's message can name paths outside the workspace. Other errors (denials, aborts) are rethrown.
 */
export function describeFileError(error: unknown, path: string): ToolResult {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  if (typeof code !== "string" || !/^E[A-Z0-9]+$/.test(code)) throw error;
  const sentence =
    sentences[code] ?? ((shown) => `${shown} could not be used: ${reasonOf(error)}.`);
  return { text: sentence(JSON.stringify(path)), isError: true };
}

type Sentence = (path: string) => string;

const noSpace: Sentence = (path) =>
  `The disk is full: ${path} was not written, and what was there before is unchanged. Do not ` +
  "retry; finish with what you have and report that the disk is full.";

const notPermitted: Sentence = (path) =>
  `The operating system does not permit this for ${path}. Retrying will not help; use another ` +
  "file or report it.";

const sentences: Readonly<Record<string, Sentence>> = {
  ENOENT: (path) => `There is no ${path}. list_files shows what there is.`,
  EISDIR: (path) => `${path} is a folder. Name a file in it; list_files shows what there is.`,
  ENOTDIR: (path) => `${path} is not a folder, or goes through a file as if it were one.`,
  ENAMETOOLONG: (path) => `A name in ${path} is longer than the file system allows.`,
  EACCES: notPermitted,
  EPERM: notPermitted,
  ENOSPC: noSpace,
  EDQUOT: noSpace,
  EROFS: (path) => `${path} is on a disk that is mounted read-only, so it cannot be written.`,
};

/** A name can hold line breaks; it must not look like further entries. */
export function lineSafeName(name: string): string {
  return /[\p{Cc}\u2028\u2029]/u.test(name) ? JSON.stringify(name) : name;
}
