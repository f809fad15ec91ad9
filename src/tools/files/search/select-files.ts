import { type Dirent, readSync, statSync } from "node:fs";
import { join } from "node:path";
import type { CallSubjects } from "../../../contracts/judge-by-rules.ts";
import type { WorkspaceBinding } from "../../../workspaces/bind-workspace.ts";
import {
  type OpenFolder,
  openEntry,
  openFolder,
  shownPath,
} from "../../../workspaces/open-file.ts";
import { resolveInside } from "../../../workspaces/resolve-inside.ts";
import { type EntryFilter, type TreeEntry, walkTree } from "../../../workspaces/walk-tree.ts";
import type { ToolContext } from "../../tool.ts";
import {
  type DeniedPaths,
  deniedPaths,
  pathAbout,
  pathsAbout,
  requireWorkspace,
} from "../file-call.ts";
import { type GlobMatcher, globMatcher } from "../pattern/glob-matcher.ts";
import { type IgnoreRules, parseIgnoreRules } from "./ignore-rules.ts";

interface FileSelection {
  /** The folder to look in. */
  readonly path: string;
  readonly glob?: GlobMatcher;
  /** Searches also files that .gitignore and node_modules keep out. */
  readonly includeIgnored: boolean;
  readonly withTimes?: boolean;
  /** Files that are passed over, as if they were not there. */
  readonly isDenied?: (path: string) => boolean;
}

/** The rules that hold in a folder: its own, then those of the folders above it. */
interface RuleChain {
  readonly prefix: string;
  readonly rules: IgnoreRules;
  readonly above: RuleChain | undefined;
  /** The length of all of them together, in characters. */
  readonly length: number;
  readonly globLength: number;
}

/**
 * The files of a search, ordered by path, and null where the caller may yield to the event loop. The
 * search and the rules of a contract both use it, so they see the same files. Only .gitignore files
 * inside the workspace count. `.git` is searched only when the path names it, and so is node_modules
 * unless ignored files are included.
 */
export function* selectFiles(
  binding: WorkspaceBinding,
  { path, glob, includeIgnored, withTimes = false, isDenied }: FileSelection,
): Generator<TreeEntry | null> {
  const start = shownPath(binding, resolveInside(binding, path).path);
  const from = start === "." ? 0 : start.length + 1;
  let innermost = includeIgnored ? undefined : readRulesAbove(binding, start);

  function enter(folder: OpenFolder, place: string, entries: readonly Dirent[]): EntryFilter {
    const hasRules = !includeIgnored && entries.some(({ name }) => name === rulesName);
    const text = hasRules ? readRules(binding, folder) : undefined;
    innermost = extendChain(chainOf(innermost, place), place, text);
    const chain = innermost;
    return (name, entryPath, isFolder) => {
      if (name === ".git") return false;
      if (glob !== undefined) {
        const below = from === 0 ? entryPath : entryPath.slice(from);
        if (!(isFolder ? glob.mayHoldMatches(below) : glob.matches(below, name))) return false;
      }
      // A part of a denied folder may be allowed, so each file is checked.
      if (!isFolder && isDenied?.(entryPath) === true) return false;
      if (includeIgnored) return true;
      if (isFolder && name === "node_modules") return false;
      return chain === undefined || !isIgnored(chain, name, entryPath, isFolder);
    };
  }

  yield* walkTree(binding, path, { enter, withTimes });
}

function isIgnored(chain: RuleChain, name: string, path: string, isFolder: boolean): boolean {
  for (let link: RuleChain | undefined = chain; link !== undefined; link = link.above) {
    const ignored = link.rules.judge(path, link.prefix.length, name, isFolder);
    if (ignored !== undefined) return ignored;
  }
  return false;
}

function readRulesAbove(binding: WorkspaceBinding, start: string): RuleChain | undefined {
  if (start === ".") return undefined;
  const segments = start.split("/");
  let chain: RuleChain | undefined;
  for (let depth = 0; depth < segments.length; depth += 1) {
    const place = segments.slice(0, depth).join("/") || ".";
    const folder = openFolder(binding, join(binding.root, place), start);
    try {
      chain = extendChain(chain, place, readRules(binding, folder));
    } finally {
      folder.close();
    }
  }
  return chain;
}

/** Drops the rules of folders that the walk has left. */
function chainOf(chain: RuleChain | undefined, place: string): RuleChain | undefined {
  let link = chain;
  while (link !== undefined && !place.startsWith(link.prefix)) link = link.above;
  return link;
}

function extendChain(
  above: RuleChain | undefined,
  place: string,
  text: string | undefined,
): RuleChain | undefined {
  const length = (above?.length ?? 0) + (text?.length ?? 0);
  if (text === undefined || length > longestRules) return above;
  const rules = parseIgnoreRules(text);
  const globLength = (above?.globLength ?? 0) + rules.globLength;
  if (globLength > longestGlobs) return above;
  return { prefix: place === "." ? "" : `${place}/`, rules, above, length, globLength };
}

/**
 * Limits for all .gitignore files from the root down to one folder, since each name is matched
 * against all of them. A file that would exceed the limits is ignored, like a file that is too
 * large.
 */
const longestGlobs = 8 * 1024;
const longestRules = 1024 * 1024;

const rulesName = ".gitignore";
const largestRuleFile = 256 * 1024;

/** A link, a device or a file too large is no rule file, as if it were not there. */
function readRules(binding: WorkspaceBinding, folder: OpenFolder): string | undefined {
  try {
    const file = openEntry(binding, folder, rulesName, rulesName);
    try {
      if (file.stats.size > largestRuleFile) return undefined;
      const bytes = Buffer.alloc(file.stats.size);
      return bytes.subarray(0, readSync(file.descriptor, bytes)).toString();
    } finally {
      file.close();
    }
  } catch {
    return undefined;
  }
}

interface SearchedPart {
  readonly path: string;
  readonly glob?: string | undefined;
  readonly include_ignored: boolean;
}

/**
 * The subjects of a search call: every file that it would read. So a rule about a folder also holds
 * for a search that begins in a folder above it.
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
