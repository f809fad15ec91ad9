/**
 * What models, tasks and files say is written to terminals, and a terminal obeys control
 * characters: it can be made to hide text, rename its window or type commands. These functions
 * leave nothing of that. Bidirectional marks and overrides go as well: they make text read as
 * another; and tags, which say something that nobody sees.
 */
import { stripTerminalCodes } from "../../events/strip-terminal-codes.ts";

const forbidden =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed.
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** What JSON leaves as it is. */
const rawInJson = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** Lines and tabs stay. */
export function printable(text: string): string {
  return stripTerminalCodes(text.replaceAll("\r\n", "\n")).replaceAll(forbidden, "").toWellFormed();
}

/** One line, whatever was in it. */
export function printableLine(text: string): string {
  return printable(text.slice(0, 4000)).replaceAll(/\s+/g, " ").trim();
}

/** The same data, with escapes in place of what a terminal might obey. */
export function printableJson(value: unknown, indent?: number): string {
  return (JSON.stringify(value, null, indent) ?? "null").replaceAll(
    rawInJson,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
