/**
 * What a server says is shown to models and on terminals. Control characters drive terminals;
 * direction marks, zero-width and tag characters hide words from people that models still read.
 */
const unseen =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the point.
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u061C\u200B\u200E\u200F\u2028-\u202E\u2060-\u2069\uFEFF\u{E0000}-\u{E007F}]/gu;

/** Colours and cursor movements of terminals: all of it, not just the character that begins it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the point.
const terminal = /\u001B\[[0-9;?]*[ -/]*[@-~]/g;

/** At most so many bytes of it, cut at a character. Tabs and line ends stay. */
export function cleanText(text: string, maxBytes: number): string {
  // Cut before looking: a text can be megabytes, and a character is at least one byte.
  const clean = text
    .slice(0, maxBytes * 2)
    .toWellFormed()
    .replaceAll("\r\n", "\n")
    .replaceAll(terminal, "")
    .replaceAll(unseen, "");
  if (Buffer.byteLength(clean) <= maxBytes && text.length <= maxBytes * 2) return clean;
  const cut = Buffer.from(clean)
    .subarray(0, maxBytes)
    .toString("utf8")
    .replace(/\uFFFD+$/, "");
  return `${cut}…`;
}

/** The same in one line, for sentences. */
export function cleanLine(text: string, maxBytes: number): string {
  return cleanText(text, maxBytes).replaceAll(/\s+/g, " ").trim();
}
