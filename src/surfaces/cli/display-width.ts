import { stripVTControlCharacters } from "node:util";

const plain = /^[\u0020-\u007e]*$/;
/** Drawn two cells wide: East Asian wide forms, and what is shown as a picture. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3fffd}]/u;
const combining = /^[\p{Mn}\p{Me}\u200b-\u200d]+$/u;

let segmenter: Intl.Segmenter | undefined;

function graphemes(text: string): string[] {
  segmenter ??= new Intl.Segmenter();
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** How many cells of a terminal a text takes; colours take none. */
export function displayWidth(text: string): number {
  const visible = text.includes("\u001b") ? stripVTControlCharacters(text) : text;
  if (plain.test(visible)) return visible.length;
  return graphemes(visible).reduce((sum, each) => sum + widthOf(each), 0);
}

function widthOf(grapheme: string): number {
  if (combining.test(grapheme)) return 0;
  return wide.test(grapheme) ? 2 : 1;
}

/** At most `width` cells, without colours in it; what does not fit ends in an ellipsis. */
export function shorten(text: string, width: number, ellipsis = "…"): string {
  if (displayWidth(text) <= width) return text;
  const room = width - ellipsis.length;
  if (room <= 0) return ellipsis.slice(0, Math.max(0, width));
  let used = 0;
  let kept = "";
  for (const grapheme of graphemes(text)) {
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
