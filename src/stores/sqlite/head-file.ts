import { appendFileSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
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
 */
export class HeadFile {
  readonly #path: string | null;
  #hasWarned = false;

  constructor(path: string | null) {
    this.#path = path;
  }

  add(heads: readonly LogHead[]): void {
    if (this.#path === null || heads.length === 0) return;
    try {
      appendFileSync(this.#path, heads.map(lineOf).join(""), { mode: 0o600 });
      if (statSync(this.#path).size > largest) shorten(this.#path);
    } catch (error) {
      // The events are stored. Without the line only the check of their end is weaker.
      if (!this.#hasWarned) process.emitWarning(error instanceof Error ? error : String(error));
      this.#hasWarned = true;
    }
  }

  /** Undefined when there is none: a database of an earlier version, or a copy without its file. */
  read(): KeptHeads | undefined {
    if (this.#path === null) return undefined;
    try {
      return { path: this.#path, heads: headsIn(readFileSync(this.#path, "utf8")) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }
}

function lineOf({ hash, runId, seq }: LogHead): string {
  return `${runId} ${seq} ${hash}\n`;
}

/** A line that a power cut left torn says nothing. */
function headsIn(text: string): readonly LogHead[] {
  return text.split("\n").flatMap((line) => {
    const [, runId, seq, hash] = /^(r[0-9a-f]+) ([0-9]{1,15}) ([0-9a-f]{64})$/.exec(line) ?? [];
    return runId && hash ? [{ runId, seq: Number(seq), hash }] : [];
  });
}

/** Keeps the later half. A line that another process adds at this moment may be lost. */
function shorten(path: string): void {
  const text = readFileSync(path, "utf8");
  const later = text.slice(text.indexOf("\n", text.length / 2) + 1);
  const temporary = `${path}.${process.pid}`;
  try {
    writeFileSync(temporary, later, { mode: 0o600 });
    renameSync(temporary, path);
  } finally {
    rmSync(temporary, { force: true });
  }
}
