import { type Dirent, readSync } from "node:fs";
import { join } from "node:path";
import { openEntry, shownPath } from "../../../workspaces/open-file.ts";
import { type OpenFolder, openFolder } from "../../../workspaces/open-folder.ts";
import { resolveInside } from "../../../workspaces/resolve-inside.ts";
import { type EntryFilter, type TreeEntry, walkTree } from "../../../workspaces/walk-tree.ts";
import type { WorkspaceBinding } from "../../../workspaces/workspace-binding.ts";
import type { GlobMatcher } from "../pattern/glob-matcher.ts";
import { type IgnoreRules, parseIgnoreRules } from "./ignore-rules.ts";

export interface FileSelection {
  /** The folder to look in. */
  readonly path: string;
  readonly glob?: GlobMatcher;
  /** Also what .gitignore and node_modules would keep out. */
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
}

/**
 * The files that a search is about, ordered by path, and null where others can be let in. Both
 * searches and the rules of a contract ask here, so that they speak of the same files. Only .gitignore files inside the workspace count;
 * .git is looked into only when it is named, and so is node_modules unless all is asked for.
 */
export function* selectFiles(
  binding: WorkspaceBinding,
  { path, glob, includeIgnored, withTimes = false, isDenied }: FileSelection,
): Generator<TreeEntry | null> {
  const start = shownPath(binding, resolveInside(binding, path).path);
  const from = start === "." ? 0 : start.length + 1;
  const chains = new Map<string, RuleChain | undefined>();
  if (!includeIgnored) readRulesAbove(binding, start, chains);

  function enter(folder: OpenFolder, place: string, entries: readonly Dirent[]): EntryFilter {
    const hasRules = !includeIgnored && entries.some(({ name }) => name === rulesName);
    const text = hasRules ? readRules(binding, folder) : undefined;
    const chain = includeIgnored ? undefined : extendChain(place, text, chains);
    return (name, entryPath, isFolder) => {
      if (name === ".git") return false;
      if (glob !== undefined) {
        const below = from === 0 ? entryPath : entryPath.slice(from);
        if (!(isFolder ? glob.mayHoldMatches(below) : glob.matches(below, name))) return false;
      }
      // Of a folder that is denied a part may be allowed, so each file is asked for.
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

function readRulesAbove(
  binding: WorkspaceBinding,
  start: string,
  chains: Map<string, RuleChain | undefined>,
): void {
  if (start === ".") return;
  const segments = start.split("/");
  for (let depth = 0; depth < segments.length; depth += 1) {
    const place = segments.slice(0, depth).join("/") || ".";
    const folder = openFolder(binding, join(binding.root, place), start);
    try {
      extendChain(place, readRules(binding, folder), chains);
    } finally {
      folder.close();
    }
  }
}

function extendChain(
  place: string,
  text: string | undefined,
  chains: Map<string, RuleChain | undefined>,
): RuleChain | undefined {
  const slash = place.lastIndexOf("/");
  const above = place === "." ? undefined : chains.get(slash < 0 ? "." : place.slice(0, slash));
  const prefix = place === "." ? "" : `${place}/`;
  const chain = text === undefined ? above : { prefix, rules: parseIgnoreRules(text), above };
  chains.set(place, chain);
  return chain;
}

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
