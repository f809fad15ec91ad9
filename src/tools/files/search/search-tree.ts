import type { Clock } from "../../../ports/clock.ts";
import type { WorkspaceBinding } from "../../../workspaces/bind-workspace.ts";
import { type OpenFile, SiblingOpener } from "../../../workspaces/open-file.ts";
import type { Program } from "../../../workspaces/processes/find-program.ts";
import type { FolderFiles } from "../../../workspaces/walk-tree.ts";
import type { LinePattern } from "../pattern/line-pattern.ts";
import type { Pace } from "./pace.ts";
import { filesWithMatches, type RipgrepSearch } from "./ripgrep.ts";
import { type FileMatches, FileSearcher } from "./search-file.ts";

interface TreeSearch {
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

interface SearchedFile extends FileMatches {
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

/** In bytes of paths: the first answer comes soon, and the many come in few processes. */
const firstBatch = 32 * 1024;
// Windows allows 32,767 characters for a whole command line, Linux and macOS a megabyte or more.
const largestBatch = process.platform === "win32" ? 20_000 : 700 * 1024;

/** A file to be searched; without a folder it stands for itself. */
export interface SearchableFile {
  readonly path: string;
  readonly folder?: FolderFiles;
}

/**
 * Uses ripgrep to drop files that cannot match, in the same order. The remaining files are searched
 * by our own code through the workspace boundary: ripgrep opens files by path, and an agent can
 * replace a path by a link, so no output of ripgrep is ever shown.
 */
async function* narrowFiles(
  files: Iterable<SearchableFile | null>,
  search: RipgrepSearch,
  pace: Pace,
  clock: Clock,
): AsyncGenerator<string> {
  const stop = new AbortController();
  const signal = AbortSignal.any([pace.signal, stop.signal]);
  const pending: Promise<readonly string[]>[] = [];

  async function narrow(batch: readonly SearchableFile[]): Promise<readonly string[]> {
    const paths = batch.map(({ path }) => path);
    const found = await filesWithMatches(search, operandsFor(batch), signal, clock);
    return found === null ? paths : paths.filter((path) => found.has(path));
  }

  const begin = (batch: readonly SearchableFile[]) => {
    const running = narrow(batch);
    running.catch(() => undefined); // No code awaits this promise after an early return.
    pending.push(running);
  };

  try {
    for await (const batch of batches(files, search.root, pace)) {
      begin(batch);
      // One batch is searched while the next one is collected.
      if (pending.length > 1) yield* (await pending.shift()) ?? [];
    }
    for (const running of pending) yield* await running;
  } finally {
    stop.abort();
    await Promise.allSettled(pending);
  }
}

async function* batches(
  files: Iterable<SearchableFile | null>,
  root: string,
  pace: Pace,
): AsyncGenerator<readonly SearchableFile[]> {
  // The folder before each path, a separator, the end and the pointer to it.
  const around = Buffer.byteLength(root) + 10;
  let room = Math.min(firstBatch, largestBatch);
  let batch: SearchableFile[] = [];
  let size = 0;
  for (const file of files) {
    if (pace.isOver) await pace.pause();
    if (file === null) continue;
    batch.push(file);
    size += Buffer.byteLength(file.path) + around;
    if (size < room) continue;
    yield batch;
    batch = [];
    size = 0;
    room = Math.min(room * 4, largestBatch);
  }
  if (batch.length > 0) yield batch;
}

/**
 * The arguments for ripgrep: a folder instead of its files where all of them are selected and most
 * are in this batch. Ripgrep does not descend: which subfolders are searched is our decision.
 */
function operandsFor(batch: readonly SearchableFile[]): readonly string[] {
  const byFolder = new Map<string, SearchableFile[]>();
  for (const file of batch) {
    const place = file.path.slice(0, Math.max(file.path.lastIndexOf("/"), 0));
    const others = byFolder.get(place);
    if (others === undefined) byFolder.set(place, [file]);
    else others.push(file);
  }
  return [...byFolder].flatMap(([place, files]) => {
    const folder = files[0]?.folder;
    const isWhole = folder?.isWhole === true && files.length * 2 > folder.count;
    return isWhole ? [place] : files.map(({ path }) => path);
  });
}
