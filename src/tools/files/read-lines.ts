import { read } from "node:fs";
import { promisify } from "node:util";

export interface LineWindow {
  readonly bytes: Buffer;
  /** How many lines `bytes` holds; a last one without an end counts. */
  readonly lines: number;
  /** The number of lines in the file, known only when its end was reached. */
  readonly total?: number;
  /** The only line was longer than the limit and its rest is missing. */
  readonly isCut: boolean;
}

const maximumChunk = 1 << 18;
const readAsync = promisify(read);

/**
 * A window of lines from an open file of about `size` bytes, or null when a NUL byte was met on
 * the way: then it is not text.
 */
export async function readLines(
  descriptor: number,
  size: number,
  request: LineRequest,
  signal: AbortSignal,
): Promise<LineWindow | null> {
  const collector = new LineCollector(request);
  // One byte more than the size: a short read has then reached the end, which saves a second read.
  const chunk = Buffer.allocUnsafe(Math.min(size + 1, maximumChunk));
  for (let seen = 0; ; ) {
    signal.throwIfAborted();
    const { bytesRead } = await readAsync(descriptor, chunk, 0, chunk.length, null);
    const data = chunk.subarray(0, bytesRead);
    if (data.includes(0)) return null;
    collector.add(data);
    seen += bytesRead;
    const isEnd = bytesRead === 0 || (bytesRead < chunk.length && seen >= size);
    const total = isEnd && !collector.isFull ? collector.end() : undefined;
    if (!collector.isFull && total === undefined) continue;
    const { lines, isCut } = collector;
    return { bytes: collector.bytes(), lines, isCut, ...(total === undefined ? {} : { total }) };
  }
}

const newline = 10;

interface LineRequest {
  /** The first line wanted, from 1. */
  readonly offset: number;
  readonly limit: number;
  readonly maximumBytes: number;
}

/**
 * Reads a file chunk by chunk and keeps a window of whole lines, so that memory depends on the window
 * and not on the file. It works on bytes, so an encoding error outside of the window does not matter.
 */
class LineCollector {
  /** There are more lines, and they do not fit. */
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
