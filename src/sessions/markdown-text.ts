import { harmlessLine, harmlessText } from "./harmless-text.ts";

/**
 * Texts of others in a Markdown document of ours. None of them can end the place that it is put in,
 * begin a heading, load a picture or run anything where the document is shown.
 */

/** What a page could take for markup of its own, or for something to load. */
const active = /<[A-Za-z/!?]|!\[|\]\(\s*(?:javascript|data|vbscript):|^\s{0,3}\[[^\]]+\]:/im;

/** Prose as a quotation, which keeps its own lists and code; what could be active, as it was typed. */
export function quoteProse(text: string): string {
  const harmless = harmlessText(text);
  if (active.test(harmless)) return fence(text);
  return harmless
    .split("\n")
    .map((line) => (line === "" ? ">" : `> ${line}`))
    .join("\n");
}

/** A block of code that nothing in the text can end. */
export function fence(text: string, language = ""): string {
  const harmless = harmlessText(text);
  const ticks = harmless.match(/`{3,}/g) ?? [];
  const mark = "`".repeat(Math.max(3, ...ticks.map(({ length }) => length + 1)));
  return `${mark}${language}\n${harmless}${harmless.endsWith("\n") ? "" : "\n"}${mark}`;
}

/** A name or a title within a line. */
export function inline(text: string, most = 200): string {
  return harmlessLine(text, most)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll(/[\\`*_{}[\]#|!~]/g, (character) => `\\${character}`);
}

/** The same between tags, where a backslash would be shown. */
export function inTag(text: string, most = 100): string {
  return harmlessLine(text, most)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}
