import { readSync } from "node:fs";
import { wholeCharactersEnd } from "../pattern/decode-character.ts";
import type { LineSearch } from "./line-search.ts";
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
/** The most work between two looks at the clock, in bytes of text. */
const slice = 2048;
const chunkBytes = 256 * 1024;

/**
 * Searches files line by line, one after the other. They are read in pieces, and of what was found
 * only the places are kept, so that memory depends neither on a file nor on its lines.
 */
export class FileSearcher {
  readonly #search: LineSearch;
  readonly #pace: Pace;
  readonly #chunk = Buffer.allocUnsafeSlow(chunkBytes);
  #lines: MatchedLine[] = [];
  #count = 0;
  #most = 0;
  #number = 1;
  /** Where the present line begins in the file, and whether it is known to match. */
  #start = 0;
  #isFound = false;

  constructor(search: LineSearch, pace: Pace) {
    this.#search = search;
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
   * Gives how much of the data is done with; the rest is wanted again, with more after it. Negative
   * when enough was found.
   */
  async #searchChunk(
    data: Buffer,
    offset: number,
    isEnd: boolean,
    countsAll: boolean,
  ): Promise<number> {
    const { matcher, keepsReturn } = this.#search;
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
      const end = lineBreak >= 0 ? lineBreak : isEnd ? data.length : pieceEnd(data, at);
      const hasReturn = lineBreak > at && data[end - 1] === carriageReturn;
      const textEnd = hasReturn && !keepsReturn ? end - 1 : end;
      if (!this.#isFound) {
        if (textEnd - at <= slice) this.#scan(data, at, textEnd, offset);
        else await this.#scanLong(data, at, textEnd, offset);
      }
      if (!isWhole) return end;
      if (!this.#isFound && matcher.end()) this.#add(offset + textEnd);
      if (this.#count >= this.#most && !countsAll) return -1;
      this.#beginLine(offset + end + 1);
      at = end + 1;
    }
    // The last line came to its end with the piece before, which nobody could know then.
    if (isEnd && this.#start < offset && !this.#isFound && matcher.end()) this.#add(offset);
    return data.length;
  }

  #scan(data: Buffer, from: number, end: number, offset: number): void {
    const found = this.#search.matcher.scan(data, from, end);
    if (found >= 0) this.#add(offset + found);
  }

  async #scanLong(data: Buffer, from: number, end: number, offset: number): Promise<void> {
    for (let at = from; at < end && !this.#isFound; ) {
      const next = at + slice >= end ? end : wholeCharactersEnd(data, at, at + slice);
      this.#scan(data, at, next, offset);
      at = next;
      if (this.#pace.isOver) await this.#pace.pause();
    }
  }

  #add(matchEnd: number): void {
    this.#isFound = true;
    this.#count += 1;
    if (this.#count > this.#most) return;
    this.#lines.push({ number: this.#number, start: this.#start, matchEnd });
  }

  #beginLine(start: number): void {
    this.#number += 1;
    this.#start = start;
    this.#isFound = false;
    this.#search.matcher.begin();
  }

  /** From the beginning of a line to that of the next that could match, or of the last one here. */
  #skip(data: Buffer, at: number, offset: number): number {
    const { literal } = this.#search;
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

/** Where a line may be interrupted: not inside a character, nor between its return and its end. */
function pieceEnd(data: Buffer, from: number): number {
  const whole = wholeCharactersEnd(data, from, data.length);
  return whole > from && data[whole - 1] === carriageReturn ? whole - 1 : whole;
}
