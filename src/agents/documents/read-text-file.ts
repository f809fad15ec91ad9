import { MandateError } from "../../ports/mandate-error.ts";
import { decodeText } from "./decode-text.ts";
import { readRegularFile } from "./read-regular-file.ts";

/** The text of a file that a person wrote, or an error that names it. */
export function readTextFile(
  file: string,
  { code, maximumBytes }: { readonly code: MandateError["code"]; readonly maximumBytes: number },
): string {
  let bytes: Buffer;
  try {
    bytes = readRegularFile(file, maximumBytes);
  } catch (cause) {
    const { code: systemCode, message } = cause as NodeJS.ErrnoException;
    const problem = systemCode === undefined ? message : `cannot be read (${systemCode})`;
    throw new MandateError(code, `${file}: ${problem}`, { cause });
  }
  const decoded = decodeText(bytes);
  if ("problem" in decoded) throw new MandateError(code, `${file}:1: ${decoded.problem}`);
  return decoded.text;
}
