import type { Pace } from "./pace.ts";
import { filesWithMatches, type RipgrepSearch } from "./run-ripgrep.ts";

/** In bytes of paths: the first answer comes soon, and the many come in few processes. */
const firstBatch = 32 * 1024;
// Windows allows 32,767 characters for a whole command line, Linux and macOS a megabyte or more.
const largestBatch = process.platform === "win32" ? 20_000 : 400 * 1024;

/**
 * Lets ripgrep pass over the files that cannot match; the order stays. What is left is searched by
 * ourselves, through the boundary: ripgrep opens by path, and a path can be swapped under it, so
 * nothing of what it read is ever shown.
 */
export async function* narrowFiles(
  paths: Iterable<string | null>,
  search: RipgrepSearch,
  pace: Pace,
): AsyncGenerator<string> {
  const stop = new AbortController();
  const signal = AbortSignal.any([pace.signal, stop.signal]);
  const pending: Promise<readonly string[]>[] = [];

  async function narrow(batch: readonly string[]): Promise<readonly string[]> {
    const found = await filesWithMatches(search, batch, signal);
    return found === null ? batch : batch.filter((path) => found.has(path));
  }

  const begin = (batch: readonly string[]) => {
    const running = narrow(batch);
    running.catch(() => undefined); // Nobody may be waiting for it any more when it is ended.
    pending.push(running);
  };

  try {
    for await (const batch of batches(paths, pace)) {
      begin(batch);
      // One is worked on while the next is gathered.
      if (pending.length > 1) yield* (await pending.shift()) ?? [];
    }
    for (const running of pending) yield* await running;
  } finally {
    stop.abort();
    await Promise.allSettled(pending);
  }
}

async function* batches(
  paths: Iterable<string | null>,
  pace: Pace,
): AsyncGenerator<readonly string[]> {
  let room = Math.min(firstBatch, largestBatch);
  let batch: string[] = [];
  let size = 0;
  for (const path of paths) {
    if (pace.isOver) await pace.pause();
    if (path === null) continue;
    batch.push(path);
    size += Buffer.byteLength(path) + 11; // With "./", its end and the pointer to it.
    if (size < room) continue;
    yield batch;
    batch = [];
    size = 0;
    room = Math.min(room * 4, largestBatch);
  }
  if (batch.length > 0) yield batch;
}
