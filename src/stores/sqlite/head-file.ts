import {
  appendFileSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import type { StoredEvent } from "../../events/event.ts";
import type { Clock } from "../../ports/clock.ts";
import { controlRunId } from "../../ports/identity.ts";
import type { KeptHeads, LogHead } from "../../ports/inspection.ts";

/**
 * About eight thousand runs. Older entries add nothing: a gap in the middle of the log is found
 * without them.
 */
const largest = 1024 * 1024;

/** So long a line may wait for others, in milliseconds: opening the file costs more than the line. */
const longestWait = 20;

/**
 * The last event of each run, in a file outside the database: one line for each run that finished
 * and for each change of the control log, and, when a store closes, one for each run that is still
 * open. With this file `mandate verify` finds a log whose end was cut off.
 *
 * A line is written soon after its event is durable, and is not synced: a crash can lose lines, but
 * the file never names an event that the log does not have. Several processes append to one file;
 * lines that are written together are one write.
 *
 * A run is noted before it is pruned, and that line is synced: a receipt without such a line is a
 * forgery.
 */
export class HeadFile {
  readonly #path: string | null;
  readonly #clock: Clock;
  #waiting: LogHead[] = [];
  #hasWarned = false;

  constructor(path: string | null, clock: Clock) {
    this.#path = path;
    this.#clock = clock;
  }

  add(heads: readonly LogHead[]): void {
    if (heads.length === 0 || this.#path === null) return;
    if (this.#waiting.length === 0) this.#clock.after(longestWait, () => this.flush()).unref();
    this.#waiting.push(...heads);
  }

  /** Writes the lines that wait, before the store closes. */
  flush(): void {
    const heads = this.#waiting;
    if (heads.length === 0) return;
    this.#waiting = [];
    const last = heads.reduce((greatest, { seq }) => Math.max(greatest, seq), 0);
    try {
      this.#append(heads.map(lineOf).join(""), last, false);
    } catch (error) {
      // The events are stored. Without the line, a cut-off log may not be noticed.
      if (!this.#hasWarned) process.emitWarning(error instanceof Error ? error : String(error));
      this.#hasWarned = true;
    }
  }

  /** Adds runs that finished, and the last event of the control log, which covers all before it. */
  addEnds(events: readonly StoredEvent[]): void {
    let control: StoredEvent | undefined;
    const ends: LogHead[] = [];
    for (const event of events) {
      if (event.run_id === controlRunId) control = event;
      else if (event.type === "run.finished") ends.push(headOf(event));
    }
    if (control !== undefined) ends.push(headOf(control));
    this.add(ends);
  }

  /**
   * Throws on failure, so that nothing is pruned. `lastSeq` is that of the log before the receipts.
   */
  notePruning(ends: readonly LogHead[], lastSeq: number): void {
    if (ends.length === 0) return;
    this.flush();
    this.#append(ends.map((end) => `pruned ${lineOf(end)}`).join(""), lastSeq, true);
  }

  #append(lines: string, lastSeq: number, flush: boolean): void {
    if (this.#path === null) return;
    // A new file starts with the sequence number from which on it knows all prunings.
    const first = existsSync(this.#path) ? "" : sinceLine(lastSeq);
    appendFileSync(this.#path, first + lines, { mode: 0o600, flush });
    if (statSync(this.#path).size > largest) shorten(this.#path);
  }

  /**
   * Undefined when the file does not exist: the database is older than this file, or was copied
   * without it.
   */
  read(): KeptHeads | undefined {
    if (this.#path === null) return undefined;
    this.flush();
    try {
      return { path: this.#path, ...contentOf(readFileSync(this.#path, "utf8")) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }
}

function headOf({ hash, run_id: runId, seq }: StoredEvent): LogHead {
  return { runId, seq, hash };
}

function lineOf({ hash, runId, seq }: LogHead): string {
  return `${runId} ${seq} ${hash}\n`;
}

function sinceLine(seq: number): string {
  return `since ${seq}\n`;
}

/** Ignores a line that a power failure left incomplete. */
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
