import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { readWholeFile } from "../../files.ts";

// Opening a FIFO without it would wait for a writer, forever. Windows lacks the flag.
const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/**
 * The bytes of a configuration or profile file. Throws a plain Error whose message completes
 * "<file>: …"; errors of the file system keep their code. The size is limited before anything is
 * read, and whatever is not a regular file is not read at all.
 */
export function readRegularFile(path: string, maximumBytes: number): Buffer {
  const descriptor = openSync(path, flags);
  try {
    if (!fstatSync(descriptor).isFile()) throw new Error("not a regular file");
    const bytes = readWholeFile(descriptor, maximumBytes);
    if (bytes === null) throw new Error(`larger than ${Math.floor(maximumBytes / 1024)} KB`);
    return bytes;
  } finally {
    closeSync(descriptor);
  }
}
