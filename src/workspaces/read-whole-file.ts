import { fstatSync, readSync } from "node:fs";

/**
 * All bytes of an open regular file, or null when it has more than `maximumBytes`. The limit holds
 * for what is read, not only for the size that was claimed: a file can grow in between.
 */
export function readWholeFile(descriptor: number, maximumBytes: number): Buffer | null {
  const { size } = fstatSync(descriptor);
  if (size > maximumBytes) return null;
  // One byte more than expected: whether it is filled tells whether that was the end.
  const expected = fill(descriptor, Buffer.allocUnsafe(size + 1));
  if (expected.length <= size) return expected;
  const grown = fill(descriptor, Buffer.allocUnsafe(maximumBytes + 1));
  return grown.length > maximumBytes ? null : grown;
}

function fill(descriptor: number, buffer: Buffer): Buffer {
  let length = 0;
  while (length < buffer.length) {
    const count = readSync(descriptor, buffer, length, buffer.length - length, length);
    if (count === 0) break;
    length += count;
  }
  return buffer.subarray(0, length);
}
