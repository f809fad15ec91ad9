/**
 * The text of a file that people write, or a sentence fragment about what it is instead. A byte
 * order mark is dropped and line ends become `\n`, so that what follows need not know of them.
 */
export type DecodedText = { readonly text: string } | { readonly problem: string };

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
