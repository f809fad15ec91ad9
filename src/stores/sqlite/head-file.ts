import {
  appendFileSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import type { KeptHeads, LogHead } from "../../ports/inspection.ts";

/** About eight thousand runs. Older ends add nothing: a gap in the middle of the log shows itself. */
const largest = 1024 * 1024;

/**
 * Ends of runs, outside of the database: a line for each run that finished and for each change of
 * the control log, and at the close of a store one for each run that it leaves open. A log that has
 * lost its end is found out by what this file still has.
 *
 * A line is added after its event is durable, and is not synced: a crash leaves fewer lines, never
 * one that the log does not have. Several processes add to one file; a line is one write.
 *
 * A run that is about to be pruned is noted before, and synced: a receipt without such a line was
 * not written by this product.
 */
export class HeadFile {
  readonly #path: string | null;
  #hasWarned = false;

  constructor(path: string | null) {
    this.#path = path;
  }

  add(heads: readonly LogHead[]): void {
    if (heads.length === 0) return;
    const last = heads.reduce((greatest, { seq }) => Math.max(greatest, seq), 0);
    try {
      this.#append(heads.map(lineOf).join(""), last, false);
    } catch (error) {
      // The events are stored. Without the line only the check of their end is weaker.
      if (!this.#hasWarned) process.emitWarning(error instanceof Error ? error : String(error));
      this.#hasWarned = true;
    }
  }

  /** Throws when it cannot: then nothing is pruned. `lastSeq`: of the log, before the receipts. */
  notePruning(ends: readonly LogHead[], lastSeq: number): void {
    if (ends.length === 0) return;
    this.#append(ends.map((end) => `pruned ${lineOf(end)}`).join(""), lastSeq, true);
  }

  #append(lines: string, lastSeq: number, flush: boolean): void {
    if (this.#path === null) return;
    // A new file says from where on it knows of everything that was pruned.
    const first = existsSync(this.#path) ? "" : sinceLine(lastSeq);
    appendFileSync(this.#path, first + lines, { mode: 0o600, flush });
    if (statSync(this.#path).size > largest) shorten(this.#path);
  }

  /** Undefined when the file does not exist: a database of an earlier version, or a copy without its file. */
  read(): KeptHeads | undefined {
    if (this.#path === null) return undefined;
    try {
      return { path: this.#path, ...contentOf(readFileSync(this.#path, "utf8")) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }
}

function lineOf({ hash, runId, seq }: LogHead): string {
  return `${runId} ${seq} ${hash}\n`;
}

function sinceLine(seq: number): string {
  return `since ${seq}\n`;
}

/** A line that a power cut left torn says nothing. */
function contentOf(text: string): Omit<KeptHeads, "path"> {
  const heads: LogHead[] = [];
  const pruned: LogHead[] = [];
  let since = 0;
  for (const line of text.split("\n")) {
    const [, mark, runId, seq, hash] =
      /^(pruned )?(r[0-9a-f]+) ([0-9]{1,15}) ([0-9a-f]{64})$/.exec(line) ?? [];
    if (runId && hash) (mark ? pruned : heads).push({ runId, seq: Number(seq), hash });
    else since = Math.max(since, Number(/^since ([0-9]{1,15})$/.exec(line)?.[1] ?? 0));
  }
  return { heads, pruned, since };
}

/** Keeps the later half. A line that another process adds at this moment may be lost. */
function shorten(path: string): void {
  const text = readFileSync(path, "utf8");
  const half = text.indexOf("\n", text.length / 2) + 1;
  const { heads, since } = contentOf(text.slice(0, half));
  const last = heads.reduce((greatest, { seq }) => Math.max(greatest, seq), since);
  const later = sinceLine(last) + text.slice(half);
  const temporary = `${path}.${process.pid}`;
  try {
    writeFileSync(temporary, later, { mode: 0o600 });
    renameSync(temporary, path);
  } finally {
    rmSync(temporary, { force: true });
  }
}
