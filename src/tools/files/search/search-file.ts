import { readSync } from "node:fs";
import type { LinePattern } from "../pattern/line-pattern.ts";
import type { Pace } from "./pace.ts";

export interface MatchedLine {
  /** The number of the line, from 1. */
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
/** Precision of the place of a match in a long line, in bytes: enough to show it. */
const placeBytes = 50;

/**
 * Searches files line by line. Files are read in pieces and only the places of matches are kept, so
 * that memory depends neither on the size of a file nor on its lines.
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

  /** Returns how many bytes are done; the rest is passed again with the next chunk. Negative: enough was found. */
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

/** In bytes. A line of a minified file would fill a whole answer. */
const longestShown = 500;
const blockBytes = 16 * 1024;

interface LineText {
  readonly text: string;
  /** Where the next line begins; null at the end of the file. */
  readonly next: number | null;
}

/** Reads lines of an open file by their place, never more than a block of it. */
export class LineReader {
  readonly #descriptor: number;
  readonly #block = Buffer.allocUnsafe(blockBytes);

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /** Reads a line. A long line gives the part around `near`, or its beginning. */
  read(start: number, near = start): LineText {
    const block = this.#read(start, blockBytes);
    const end = block.indexOf(newline);
    if (end >= 0 && end <= longestShown)
      return { text: show(block, 0, end), next: start + end + 1 };
    const isLast = end < 0 && block.length < blockBytes;
    if (isLast && block.length <= longestShown)
      return { text: show(block, 0, block.length), next: null };
    const next = end >= 0 ? start + end + 1 : isLast ? null : this.#nextAfter(start + block.length);
    const from = Math.max(start, near - longestShown / 2);
    const part = this.#read(from, longestShown);
    const stop = part.indexOf(newline);
    const goesOn = stop < 0 && part.length === longestShown;
    const first = from > start ? characterStart(part, 0) : 0;
    const last = goesOn ? wholeCharactersEnd(part) : stop < 0 ? part.length : stop;
    const text = show(part, first, last);
    return { text: `${from > start ? "…" : ""}${text}${goesOn ? "…" : ""}`, next };
  }

  /** Where the line before the one that begins here begins; null: this is the first. */
  before(start: number): number | null {
    if (start <= 0) return null;
    for (let end = start - 1; end > 0; ) {
      const from = Math.max(0, end - blockBytes);
      const found = this.#read(from, end - from).lastIndexOf(newline);
      if (found >= 0) return from + found + 1;
      end = from;
    }
    return 0;
  }

  #nextAfter(from: number): number | null {
    for (let at = from; ; ) {
      const block = this.#read(at, blockBytes);
      const found = block.indexOf(newline);
      if (found >= 0) return at + found + 1;
      if (block.length < blockBytes) return null;
      at += block.length;
    }
  }

  #read(from: number, length: number): Buffer {
    const bytesRead = readSync(this.#descriptor, this.#block, 0, length, from);
    return this.#block.subarray(0, bytesRead);
  }
}

/** The first place from here on where a character begins. */
function characterStart(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < from + 3 && ((bytes[at] ?? 0) & 0xc0) === 0x80) at += 1;
  return at;
}

/** The end of the last character that is complete. */
function wholeCharactersEnd(bytes: Uint8Array): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

function show(bytes: Buffer, from: number, end: number): string {
  const isReturn = end > from && bytes[end - 1] === 13;
  // The mark stands before the first line and is no part of it.
  return bytes.toString("utf8", from, isReturn ? end - 1 : end).replace(/^\ufeff/, "");
}
