import { stripTerminalCodes } from "../ports/visible-text.ts";

/** What a terminal obeys, and what makes text read as another text. White space is not in it. */
const forbidden =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed.
  /[\u0000-\u0008\u000e-\u001f\u007f-\u0084\u0086-\u009f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

const plain = /^[!-~]+(?: [!-~]+)*$/;

/**
 * A text of anybody as one line of at most so many characters, safe to show. It is stored, and
 * compared with what is stored, so it is well-formed: a database keeps no half of a character.
 */
export function oneLine(text: string, most: number): string {
  // Most texts are this already, and this is written while somebody waits.
  if (text.length <= most && plain.test(text)) return text;
  // What is cut away is not looked at: an output may have megabytes.
  const flat = stripTerminalCodes(text.slice(0, most * 4))
    .replaceAll(forbidden, "")
    .replaceAll(/[\s\u0085]+/g, " ")
    .trim();
  const isCut = flat.length > most || text.length > most * 4;
  return (
    isCut ? `${flat.slice(0, most - 1).replace(/[\ud800-\udbff]$/, "")}…` : flat
  ).toWellFormed();
}
