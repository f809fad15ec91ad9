import type { Clock } from "../../../ports/clock.ts";
import type { WorkspaceBinding } from "../../../workspaces/bind-workspace.ts";
import { type OpenFile, SiblingOpener } from "../../../workspaces/open-file.ts";
import type { Program } from "../../../workspaces/processes/find-program.ts";
import type { LinePattern } from "../pattern/line-pattern.ts";
import { narrowFiles, type SearchableFile } from "./narrow-files.ts";
import type { Pace } from "./pace.ts";
import { type FileMatches, FileSearcher } from "./search-file.ts";

export interface TreeSearch {
  readonly pattern: LinePattern;
  /** In the order of the answer; null where others can be let in. */
  readonly files: Iterable<SearchableFile | null>;
  /** Where ripgrep is, or null to do without it. */
  readonly ripgrep: Program | null;
  readonly clock: Clock;
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
  const searcher = new FileSearcher(search.pattern, pace);
  const opener = new SiblingOpener(binding);
  try {
    for await (const path of candidates(binding, search, pace)) {
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
  { pattern, files, ripgrep, clock }: TreeSearch,
  pace: Pace,
): AsyncIterable<string> {
  if (ripgrep === null) return allFiles(files, pace);
  const text = pattern.forRipgrep();
  if (text === null) return allFiles(files, pace);
  return narrowFiles(files, { program: ripgrep, pattern: text, root }, pace, clock);
}

async function* allFiles(
  files: Iterable<SearchableFile | null>,
  pace: Pace,
): AsyncGenerator<string> {
  for (const file of files) {
    if (pace.isOver) await pace.pause();
    if (file !== null) yield file.path;
  }
}

function openIfThere(opener: SiblingOpener, path: string): OpenFile | undefined {
  try {
    return opener.open(path);
  } catch {
    return undefined;
  }
}
