const newline = 10;

export interface LineRequest {
  /** The first line wanted, from 1. */
  readonly offset: number;
  readonly limit: number;
  readonly maximumBytes: number;
}

/**
 * Takes a file chunk by chunk and keeps a window of whole lines, so that memory depends on the
 * window and not on the file. Bytes, not characters: an encoding error elsewhere does no harm.
 */
export class LineCollector {
  /** There is more, and it does not fit. */
  isFull = false;
  /** The first line alone is longer than what fits; its rest is missing. */
  isCut = false;
  /** Lines kept; one without an end counts only when the file ends there. */
  lines = 0;

  readonly #request: LineRequest;
  readonly #parts: Buffer[] = [];
  #size = 0;
  #wholeSize = 0;
  #line = 1;
  #isInLine = false;

  constructor(request: LineRequest) {
    this.#request = request;
  }

  add(data: Buffer): void {
    let position = 0;
    while (position < data.length && !this.isFull) {
      const found = data.indexOf(newline, position);
      const end = found < 0 ? data.length : found + 1;
      this.#isInLine = found < 0;
      if (this.#line >= this.#request.offset) this.#keep(data.subarray(position, end));
      if (!this.#isInLine) this.#line += 1;
      position = end;
    }
  }

  /** After the last chunk. Returns the number of lines in the whole file. */
  end(): number {
    if (this.#size > this.#wholeSize) this.lines += 1;
    this.#wholeSize = this.#size;
    return this.#isInLine ? this.#line : this.#line - 1;
  }

  bytes(): Buffer {
    const [first] = this.#parts;
    const all = this.#parts.length === 1 && first ? first : Buffer.concat(this.#parts);
    return all.subarray(0, this.#wholeSize);
  }

  #keep(piece: Buffer): void {
    const { limit, maximumBytes } = this.#request;
    const room = maximumBytes - this.#size;
    this.isFull = this.lines === limit || piece.length > room;
    if (this.isFull && this.lines > 0) return;
    this.isCut = this.isFull;
    // A copy: the caller reads the next chunk into the same memory.
    this.#parts.push(Buffer.from(piece.subarray(0, room)));
    this.#size += Math.min(piece.length, room);
    if (this.#isInLine && !this.isCut) return;
    this.lines += 1;
    this.#wholeSize = this.#size;
  }
}
