import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { readWholeFile } from "../../files.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { reasonOf } from "../../ports/message-of.ts";

/** The text of a file. Throws a MandateError that names the file. */
export function readTextFile(
  file: string,
  { code, maximumBytes }: { readonly code: MandateError["code"]; readonly maximumBytes: number },
): string {
  let bytes: Buffer;
  try {
    bytes = readRegularFile(file, maximumBytes);
  } catch (cause) {
    throw new MandateError(code, `${file}: ${whyUnread(cause)}`, { cause });
  }
  const decoded = decodeText(bytes);
  if ("problem" in decoded) throw new MandateError(code, `${file}:1: ${decoded.problem}`);
  return decoded.text;
}

/** Why a file could not be read, as words that complete "<file>: …". */
export function whyUnread(error: unknown): string {
  const isOfSystem = (error as NodeJS.ErrnoException).code !== undefined;
  return isOfSystem ? `cannot be read: ${reasonOf(error)}` : reasonOf(error);
}

// Without O_NONBLOCK, to open a FIFO waits for a writer. Windows does not have the flag.
const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/**
 * The bytes of a configuration or profile file. The size is checked before anything is read, and
 * only a regular file is read. Throws a plain Error whose message completes "<file>: …"; a file
 * system error keeps its code.
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

/**
 * The decoded text of a file, or the reason why it is not text. Without a byte order mark, and with
 * `\n` as the only line end.
 */
type DecodedText = { readonly text: string } | { readonly problem: string };

export function decodeText(bytes: Uint8Array): DecodedText {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return { problem: "the file is not valid UTF-8; save it as UTF-8" };
  }
  if (text.includes("\0")) return { problem: "the file contains a NUL byte; it is not text" };
  return { text: text.replaceAll("\r\n", "\n") };
}
