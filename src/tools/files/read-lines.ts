import { read } from "node:fs";
import { promisify } from "node:util";

export interface LineWindow {
  readonly bytes: Buffer;
  /** How many lines `bytes` holds; a last one without an end counts. */
  readonly lines: number;
  /** The number of lines in the file, known only when its end was reached. */
  readonly total?: number;
  /** The only line was longer than `maximumBytes` and its rest is missing. */
  readonly cut: boolean;
  /** A NUL byte was met: this is not text. */
  readonly binary: boolean;
}

export interface LineRequest {
  /** The first line wanted, from 1. */
  readonly offset: number;
  readonly limit: number;
  readonly maximumBytes: number;
  readonly signal: AbortSignal;
}

const chunkBytes = 1 << 18;
const newline = 10;
const readAsync = promisify(read);

/**
 * A window of whole lines, read chunk by chunk, so that memory depends on the window and not on
 * the file. Bytes, not characters: an encoding error elsewhere in the file does no harm here.
 */
export async function readLines(descriptor: number, request: LineRequest): Promise<LineWindow> {
  const chunk = Buffer.allocUnsafe(chunkBytes);
  const parts: Buffer[] = [];
  let size = 0; // Bytes in `parts`.
  let wholeSize = 0; // Of these, the bytes of lines that have an end.
  let lines = 0;
  let line = 1; // The line at `position`.
  let endsInLine = false;
  const done = (more: Partial<LineWindow>): LineWindow => ({
    bytes: Buffer.concat(parts).subarray(
      0,
      more.total === undefined && !more.cut ? wholeSize : size,
    ),
    lines,
    cut: false,
    binary: false,
    ...more,
  });

  for (;;) {
    request.signal.throwIfAborted();
    const { bytesRead } = await readAsync(descriptor, chunk, 0, chunkBytes, null);
    const data = chunk.subarray(0, bytesRead);
    if (bytesRead === 0) {
      if (size > wholeSize) lines += 1;
      return done({ total: endsInLine ? line : line - 1 });
    }
    if (data.includes(0)) return done({ binary: true });

    let position = 0;
    while (position < bytesRead) {
      const found = data.indexOf(newline, position);
      const end = found < 0 ? bytesRead : found + 1;
      endsInLine = found < 0;
      if (line >= request.offset) {
        if (lines === request.limit) return done({});
        const room = request.maximumBytes - size;
        const isFull = end - position > room;
        if (isFull && lines > 0) return done({});
        parts.push(Buffer.from(data.subarray(position, Math.min(end, position + room))));
        size += Math.min(end - position, room);
        if (isFull) {
          lines = 1;
          return done({ cut: true });
        }
        if (!endsInLine) {
          lines += 1;
          wholeSize = size;
        }
      }
      if (!endsInLine) line += 1;
      position = end;
    }
  }
}
