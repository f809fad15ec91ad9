import { readSync } from "node:fs";

/** In bytes; more of a line is rarely of use, and one of a minified file fills a whole answer. */
const longestShown = 500;
const blockBytes = 16 * 1024;
const newline = 10;

export interface LineText {
  readonly text: string;
  /** Where the next line begins; null: there is none. */
  readonly next: number | null;
}

/** Reads lines of an open file by their place, never more than a block of it. */
export class LineReader {
  readonly #descriptor: number;
  readonly #block = Buffer.allocUnsafe(blockBytes);

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /** One line; of a long one what lies around `near`, or its beginning. */
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
export function characterStart(bytes: Uint8Array, from: number): number {
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
