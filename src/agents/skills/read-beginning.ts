import { readSync } from "node:fs";

/** The first bytes of an open file: all of it when there are fewer than `maximumBytes`. */
export function readBeginning(descriptor: number, maximumBytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(maximumBytes);
  let length = 0;
  while (length < maximumBytes) {
    const count = readSync(descriptor, buffer, length, maximumBytes - length, length);
    if (count === 0) break;
    length += count;
  }
  return Buffer.from(buffer.subarray(0, length));
}
