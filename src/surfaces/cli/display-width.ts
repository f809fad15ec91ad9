import { stripTerminalCodes } from "../../ports/visible-text.ts";
import type { Writer } from "./io.ts";

const plain = /^[\u0020-\u007e]*$/;
/** Drawn two cells wide: East Asian wide forms and emoji. */
const wide =
  /[\u1100-\u115f\u2329\u232a\u2630-\u2637\u268a-\u268f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{16fe0}-\u{1b2ff}\u{1d300}-\u{1d376}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]/u;
/** Sequences of narrow signs that are drawn as one emoji of two cells. */
const picture = /^(?:[#*\d]\ufe0f?\u20e3|\p{Emoji}\ufe0f|\p{Extended_Pictographic}.*\u200d)/u;
/** Two regional indicators are one flag, and a skin tone takes no cell of its own. */
const pairs = /\p{Regional_Indicator}|\p{Emoji_Modifier_Base}/u;
const unseen = /[\p{Mn}\p{Me}\p{Cf}\p{Default_Ignorable_Code_Point}]/u;
/** Vowels and finals of decomposed Korean syllables: drawn into the letter before them. */
const joining = /[\u1160-\u11ff\ud7b0-\ud7ff]/;

let segmenter: Intl.Segmenter | undefined;

/** The user-perceived characters of a text. */
export function graphemesOf(text: string): string[] {
  segmenter ??= new Intl.Segmenter();
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** How many cells of a terminal a text takes; colours take none. */
export function displayWidth(text: string): number {
  const visible = text.includes("\u001b") ? stripTerminalCodes(text) : text;
  if (plain.test(visible)) return visible.length;
  return graphemesOf(visible).reduce((sum, each) => sum + widthOf(each), 0);
}

/**
 * Never less than what terminals draw, where they agree: text that is wider than computed would wrap
 * into columns that only this program writes. So each letter of a cluster counts (Indic scripts), and
 * a sign with an emoji selector is as wide as an emoji.
 */
function widthOf(grapheme: string): number {
  if (picture.test(grapheme.slice(0, 50))) return 2;
  let cells = 0;
  for (const letter of grapheme) {
    if (unseen.test(letter) || (cells > 0 && joining.test(letter))) continue;
    if (pairs.test(letter) && wide.test(letter)) return cells + 2;
    cells += wide.test(letter) ? 2 : 1;
  }
  return cells;
}

/** At most `width` cells, without colours in it; what does not fit ends in an ellipsis. */
export function shorten(text: string, width: number, ellipsis = "…"): string {
  if (displayWidth(text) <= width) return text;
  const room = width - ellipsis.length;
  if (room <= 0) return ellipsis.slice(0, Math.max(0, width));
  let used = 0;
  let kept = "";
  for (const grapheme of graphemesOf(text)) {
    used += widthOf(grapheme);
    if (used > room) break;
    kept += grapheme;
  }
  return kept.trimEnd() + ellipsis;
}

export function padEnd(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - displayWidth(text)));
}

export function padStart(text: string, width: number): string {
  return " ".repeat(Math.max(0, width - displayWidth(text))) + text;
}

/** Words on lines of at most `width` cells; a word that is longer stands alone. No colours in it. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && displayWidth(longer) > width) {
      lines.push(line);
      line = word;
    } else {
      line = longer;
    }
  }
  lines.push(line);
  return lines;
}

/** Sentences for people: a terminal gets them wrapped between words, a file or pipe as they are. */
export function wrapFor(
  { columns, isTerminal }: Pick<Writer, "columns" | "isTerminal">,
  text: string,
): string {
  const fits = (line: string): boolean => !isTerminal || displayWidth(line) <= columns;
  const lines = text.split("\n");
  return lines.flatMap((line) => (fits(line) ? [line] : wrap(line, columns))).join("\n");
}
