import { displayWidth, graphemesOf } from "../../cli/display-width.ts";

const tab = "    ";

/** The width of a tab depends on the terminal: tabs are drawn as spaces. */
export function expandTabs(text: string): string {
  return text.replaceAll("\t", tab);
}

/**
 * Text on lines of at most `width` cells, broken between words where there are any. Line
 * breaks and indentation stay; a word that is longer than a line is cut.
 */
export function wrapText(text: string, width: number): readonly string[] {
  const room = Math.max(1, width);
  return expandTabs(text)
    .split("\n")
    .flatMap((line) => wrapLine(line, room));
}

function wrapLine(line: string, width: number): readonly string[] {
  if (displayWidth(line) <= width) return [line.trimEnd()];
  const [indent = ""] = /^ */.exec(line) ?? [];
  const hang = indent.length < width / 2 ? indent : "";
  const lines: string[] = [];
  let current = hang;
  let used = hang.length;
  const close = () => {
    lines.push(current.trimEnd());
    current = hang;
    used = hang.length;
  };
  for (const [index, word] of line.trimStart().split(" ").entries()) {
    const space = index === 0 || used === hang.length ? "" : " ";
    const size = displayWidth(word);
    if (used + space.length + size <= width) {
      current += space + word;
      used += space.length + size;
      continue;
    }
    if (used > hang.length) close();
    for (const piece of cutWord(word, width - hang.length)) {
      if (used > hang.length) close();
      current += piece;
      used += displayWidth(piece);
    }
  }
  close();
  return lines;
}

/** A word in pieces that fit; most are one. */
function cutWord(word: string, width: number): readonly string[] {
  if (displayWidth(word) <= width) return [word];
  const pieces: string[] = [];
  let piece = "";
  let used = 0;
  for (const grapheme of graphemesOf(word)) {
    const size = displayWidth(grapheme);
    if (used + size > width && piece !== "") {
      pieces.push(piece);
      piece = "";
      used = 0;
    }
    piece += grapheme;
    used += size;
  }
  return [...pieces, piece];
}
