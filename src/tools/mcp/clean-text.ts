/** What a server or a command said, cut to a size and without what a person cannot see. */

import { stripHidden } from "../../ports/visible-text.ts";
import { headOfBytes, oneLine } from "../../text.ts";

/** At most so many bytes of it, cut at a character. Tabs and line ends stay. */
export function cleanText(text: string, maxBytes: number): string {
  // Cut before looking: a text can be megabytes, and a character is at least one byte.
  const clean = stripHidden(text.slice(0, maxBytes * 2));
  if (Buffer.byteLength(clean) <= maxBytes && text.length <= maxBytes * 2) return clean;
  return `${headOfBytes(clean, maxBytes)}…`;
}

/** The same in one line, for sentences. */
export function cleanLine(text: string, maxBytes: number): string {
  return oneLine(cleanText(text, maxBytes));
}
