import { read } from "node:fs";
import { promisify } from "node:util";
import { LineCollector, type LineRequest } from "./line-collector.ts";

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
  // One byte more than there should be: a read that comes back short has seen the end, which saves
  // the second read that most files would need.
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
