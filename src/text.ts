/**
 * The one place where text is cut: no half of a character is left behind, and what a reader sees as
 * one character (a letter with its accents, a flag, a family) is kept or cut as a whole. Lengths are
 * in UTF-16 units, as `length` counts. May import ports; runs in browsers too.
 */
import { stripTerminalCodes } from "./ports/visible-text.ts";

/**
 * At most `most` units of a text, the ellipsis included.
 * @example clip("a long title", 7) // "a long…"
 */
export function clip(text: string, most: number, ellipsis = "…"): string {
  if (text.length <= most) return text;
  return headOf(text, Math.max(0, most - ellipsis.length)) + ellipsis;
}

/** The beginning of a text, at most `most` UTF-16 code units long. */
export function headOf(text: string, most: number): string {
  return text.length <= most ? text : text.slice(0, characterAt(text, most).start);
}

/** The end of a text, at most `most` UTF-16 code units long. */
export function tailOf(text: string, most: number): string {
  if (text.length <= most) return text;
  const at = text.length - most;
  const { start, end } = characterAt(text, at);
  return text.slice(start === at ? at : end);
}

/** The beginning of a text , at most `most` bytes of UTF-8, cut between code points. */
export function headOfBytes(text: string, most: number): string {
  // A unit is at most three bytes: short texts need no counting.
  if (text.length * 3 <= most) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(Math.max(0, most)));
  return text.slice(0, read);
}

/**
 * The beginning of a text, cut between code points: the same for every version of Unicode, so that it
 * may be compared with what is stored, or made again from a log.
 */
export function stableHeadOf(text: string, most: number): string {
  return text.length <= most ? text : text.slice(0, most).replace(/[\ud800-\udbff]$/, "");
}

/** Units on both sides of a cut that decide to which character it belongs. */
const around = 64;
let segmenter: Intl.Segmenter | undefined;

/** Where the character begins and ends that the unit at `at` belongs to. */
function characterAt(text: string, at: number): { readonly start: number; readonly end: number } {
  if (at <= 0 || at >= text.length) return { start: at, end: at };
  const [before, after] = [text.charCodeAt(at - 1), text.charCodeAt(at)];
  // Below the combining marks, two units are two characters, except for the end of a line.
  if (before < 0x300 && after < 0x300 && !(before === 0x0d && after === 0x0a)) {
    return { start: at, end: at + 1 };
  }
  const from = Math.max(0, at - around);
  segmenter ??= new Intl.Segmenter();
  const found = segmenter.segment(text.slice(from, at + around)).containing(at - from);
  const start = from + (found?.index ?? 0);
  const end = start + (found?.segment.length ?? 0);
  const isWhole = (start > from || from === 0) && end < at + around;
  if (isWhole) return { start, end };
  // Longer than any that people write: cut between its code points.
  const isPair = (before & 0xfc00) === 0xd800 && (after & 0xfc00) === 0xdc00;
  return isPair ? { start: at - 1, end: at + 1 } : { start: at, end: at };
}

/** One line, so that no text can pretend to be the next one: every run of white space is a space. */
export function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

/** What a terminal obeys, and what makes text read as another text. White space is not in it. */
const forbidden =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed.
  /[\u0000-\u0008\u000e-\u001f\u007f-\u0084\u0086-\u009f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

const plain = /^[!-~]+(?: [!-~]+)*$/;

/**
 * A text of any origin as one line of at most so many units, safe to show. It is stored, and compared
 * with what is stored by any later version: it is well-formed, and cut between code points, not by
 * what a version of Unicode counts as a character.
 */
export function storedLine(text: string, most: number): string {
  // Most texts are this already, and a caller waits while it is written.
  if (text.length <= most && plain.test(text)) return text;
  // What is cut away is not looked at: an output may have megabytes.
  const flat = stripTerminalCodes(text.slice(0, most * 4))
    .replaceAll(forbidden, "")
    .replaceAll(/[\s\u0085]+/g, " ")
    .trim();
  const isCut = flat.length > most || text.length > most * 4;
  return (isCut ? `${stableHeadOf(flat, most - 1)}…` : flat).toWellFormed();
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

/** Text of any origin between the XML tags of a prompt: it cannot close its tag. */
export function escapeXml(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, " ").replaceAll(/[&<>"']/g, (each) => entities[each] ?? each);
}

const longestSentence = 200;

/**
 * The first sentence of a prompt, without Markdown, as the description of a profile that has none.
 * A heading is used only where there is no other text.
 * @example firstSentence("# Reviewer\n\nYou review code. Be brief.") // "You review code."
 */
export function firstSentence(prompt: string): string {
  const lines = prompt
    .slice(0, 4000)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => /[\p{L}\p{N}]/u.test(line));
  const line = lines.find((each) => !/^(?:#|<|```|~~~)/.test(each)) ?? lines[0] ?? "";
  const text = line.replace(/^(?:[#>*+\s-]|\d+[.)]\s)+/, "").replaceAll(/\*\*|__|`/g, "");
  const sentence = /^.{1,200}?[.!?。！？](?=\s|$)/u.exec(text)?.[0];
  return (sentence ?? headOf(text, longestSentence)).trim();
}
