import { isBelow } from "../../../contracts/write-roots.ts";
import type { OpenFile } from "../../../workspaces/open-file.ts";
import { SiblingOpener } from "../../../workspaces/sibling-opener.ts";
import type { WorkspaceBinding } from "../../../workspaces/workspace-binding.ts";
import type { PatternNode } from "../pattern/pattern-node.ts";
import { printForRipgrep } from "../pattern/print-for-ripgrep.ts";
import { lineSearch } from "./line-search.ts";
import { narrowFiles } from "./narrow-files.ts";
import type { Pace } from "./pace.ts";
import { type FileMatches, FileSearcher } from "./search-file.ts";

export interface TreeSearch {
  readonly node: PatternNode;
  /** In the order of the answer; null where others can be let in. */
  readonly paths: Iterable<string | null>;
  /** Where ripgrep is, or null to do without it. */
  readonly ripgrep: string | null;
  /** How many lines of the next file are wanted, and whether the others are to be counted. */
  readonly most: () => number;
  readonly countsAll: boolean;
}

export interface SearchedFile extends FileMatches {
  readonly path: string;
  /** Open until the next one is asked for. */
  readonly file: OpenFile;
}

/** The files that hold a matching line, in order. Files that are gone or closed to us hold none. */
export async function* searchTree(
  binding: WorkspaceBinding,
  search: TreeSearch,
  pace: Pace,
): AsyncGenerator<SearchedFile> {
  const searcher = new FileSearcher(lineSearch(search.node), pace);
  const opener = new SiblingOpener(binding);
  try {
    for await (const path of candidates(binding, search, pace)) {
      if (pace.isOver) await pace.pause();
      if (path === null) continue;
      const file = openIfThere(opener, path);
      if (file === undefined) continue;
      try {
        const matches = await searcher.search(file.descriptor, search.most(), search.countsAll);
        if (matches !== null && matches.count > 0) yield { path, file, ...matches };
      } finally {
        file.close();
      }
    }
  } finally {
    opener.close();
  }
}

function candidates(
  { root }: WorkspaceBinding,
  { node, paths, ripgrep }: TreeSearch,
  pace: Pace,
): Iterable<string | null> | AsyncIterable<string> {
  // A program that lies in the workspace is the workspace's own, whatever it is called.
  if (ripgrep === null || isBelow(ripgrep, root)) return paths;
  const pattern = printForRipgrep(node);
  return pattern === null ? paths : narrowFiles(paths, { program: ripgrep, pattern, root }, pace);
}

function openIfThere(opener: SiblingOpener, path: string): OpenFile | undefined {
  try {
    return opener.open(path);
  } catch {
    return undefined;
  }
}
