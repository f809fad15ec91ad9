import { readSync } from "node:fs";
import type { LinePattern } from "../pattern/line-pattern.ts";
import { characterStart } from "./line-text.ts";
import type { Pace } from "./pace.ts";

export interface MatchedLine {
  /** From 1. */
  readonly number: number;
  /** Where the line begins in the file, and where the first match in it was complete. */
  readonly start: number;
  readonly matchEnd: number;
}

export interface FileMatches {
  readonly lines: readonly MatchedLine[];
  /** All that were found, also those beyond the ones listed. */
  readonly count: number;
}

const newline = 10;
const carriageReturn = 13;
/** Git's rule: a NUL byte this near to the beginning makes it binary. */
const binaryProbe = 8000;
/** Bytes of text between two looks at the clock, unless one line is longer. */
const slice = 2048;
const chunkBytes = 256 * 1024;
/** Neighbouring pieces of a long line share this many bytes, so that a match is not cut in two. */
const overlap = 1024;
/** How exactly the place of a match in a long line is worked out, in bytes: enough to show it. */
const placeBytes = 50;

/**
 * Searches files line by line, one after the other. They are read in pieces, and of what was found
 * only the places are kept, so that memory depends neither on a file nor on its lines.
 */
export class FileSearcher {
  readonly #pattern: LinePattern;
  readonly #pace: Pace;
  readonly #chunk = Buffer.allocUnsafeSlow(chunkBytes);
  #lines: MatchedLine[] = [];
  #count = 0;
  #most = 0;
  #number = 1;
  /** Where the present line begins in the file, and whether it is known to match. */
  #start = 0;
  #isFound = false;

  constructor(pattern: LinePattern, pace: Pace) {
    this.#pattern = pattern;
    this.#pace = pace;
  }

  /** Stops after `most` lines, unless it is to count them all. Null: binary, without lines. */
  async search(descriptor: number, most: number, countsAll = false): Promise<FileMatches | null> {
    const chunk = this.#chunk;
    this.#lines = [];
    this.#count = 0;
    this.#most = most;
    this.#number = 0;
    this.#beginLine(0);
    let held = 0;
    for (let offset = 0; ; ) {
      if (this.#pace.isOver) await this.#pace.pause();
      const room = chunk.length - held;
      const bytesRead = readSync(descriptor, chunk, held, room, offset + held);
      const data = chunk.subarray(0, held + bytesRead);
      // A regular file gives less than was asked for only where it ends.
      const isEnd = bytesRead < room;
      if (offset === 0 && data.subarray(0, binaryProbe).includes(0)) return null;
      if (offset === 0 && startsWithMark(data)) this.#start = 3;
      const used = await this.#searchChunk(data, offset, isEnd, countsAll);
      if (isEnd || used < 0) return { lines: this.#lines, count: this.#count };
      held = data.length - used;
      chunk.copyWithin(0, used, data.length);
      offset += used;
    }
  }

  /**
   * Returns how many bytes are done with; the rest is wanted again, with more after it. Negative
   * when enough was found.
   */
  async #searchChunk(
    data: Buffer,
    offset: number,
    isEnd: boolean,
    countsAll: boolean,
  ): Promise<number> {
    const { keepsReturn, pieceBytes } = this.#pattern;
    let at = Math.max(this.#start - offset, 0);
    for (let checked = at; at < data.length; ) {
      if (at - checked > slice) {
        checked = at;
        if (this.#pace.isOver) await this.#pace.pause();
      }
      at = this.#skip(data, at, offset);
      if (at === data.length) break;
      const lineBreak = data.indexOf(newline, at);
      const isWhole = lineBreak >= 0 || isEnd;
      const end = lineBreak >= 0 ? lineBreak : data.length;
      const hasReturn = lineBreak > at && data[end - 1] === carriageReturn;
      const textEnd = hasReturn && !keepsReturn ? end - 1 : end;
      while (!this.#isFound && textEnd - at > pieceBytes) {
        const pieceEnd = characterStart(data, at + pieceBytes);
        this.#test(data, at, pieceEnd, offset, false);
        at = characterStart(data, pieceEnd - overlap);
        if (this.#pace.isOver) await this.#pace.pause();
      }
      if (!isWhole) return this.#isFound ? end : at;
      if (!this.#isFound) this.#test(data, at, textEnd, offset, true);
      if (this.#count >= this.#most && !countsAll) return -1;
      this.#beginLine(offset + end + 1);
      at = end + 1;
    }
    return data.length;
  }

  #test(data: Buffer, from: number, end: number, offset: number, isEnd: boolean): void {
    // RE2 is twice as fast on a string, its making included.
    const text = data.toString("utf8", from, end);
    const isStart = offset + from === this.#start;
    if (!this.#pattern.test(text, isStart, isEnd)) return;
    this.#isFound = true;
    this.#count += 1;
    if (this.#count > this.#most) return;
    const matchEnd = offset + from + this.#endOfMatch(data.subarray(from, end), isStart);
    this.#lines.push({ number: this.#number, start: this.#start, matchEnd });
  }

  /** Roughly where the first match in a text is complete. */
  #endOfMatch(text: Buffer, isStart: boolean): number {
    let [low, high] = [0, text.length];
    while (high - low > placeBytes) {
      const middle = (low + high) >> 1;
      if (this.#pattern.test(text.subarray(0, middle), isStart, false)) high = middle;
      else low = middle;
    }
    return high;
  }

  #beginLine(start: number): void {
    this.#number += 1;
    this.#start = start;
    this.#isFound = false;
  }

  /** From the beginning of a line to that of the next that could match, or of the last one here. */
  #skip(data: Buffer, at: number, offset: number): number {
    const { literal } = this.#pattern;
    if (literal.length === 0 || offset + at !== this.#start) return at;
    const found = data.indexOf(literal, at);
    const before = found < 0 ? data.length : found;
    const lineStart = before === 0 ? 0 : data.lastIndexOf(newline, before - 1) + 1;
    if (lineStart <= at) return at;
    for (let next = data.indexOf(newline, at); next >= 0 && next < lineStart; ) {
      this.#number += 1;
      next = data.indexOf(newline, next + 1);
    }
    this.#start = offset + lineStart;
    return lineStart;
  }
}

function startsWithMark(data: Buffer): boolean {
  return data[0] === 0xef && data[1] === 0xbb && data[2] === 0xbf;
}
