import { stripHidden } from "../../../ports/visible-text.ts";
import { displayWidth, graphemesOf } from "../display-width.ts";
import type { Paint } from "../style.ts";

/** A piece of text that looks the same throughout. `\n` alone is a line break. */
export interface Span {
  readonly text: string;
  readonly tones: readonly (keyof Paint)[];
  /** Where a click leads, on terminals that can be clicked. */
  readonly href?: string;
}

/** Untrusted text as a span: without control sequences, tabs drawn as spaces. */
export function spanOf(text: string, tones: Span["tones"] = [], href?: string): Span {
  const visible = stripHidden(text).replaceAll("\t", "    ");
  return href === undefined ? { text: visible, tones } : { text: visible, tones, href };
}

export function widthOfSpans(spans: readonly Span[]): number {
  return spans.reduce((sum, { text }) => sum + displayWidth(text), 0);
}

/** One line of spans with its colours and links. Neighbours that look the same are painted at once. */
export function paintSpans(spans: readonly Span[], paint: Paint): string {
  let line = "";
  for (let at = 0; at < spans.length; at++) {
    const first = spans[at];
    if (first === undefined) break;
    let text = first.text;
    while (looksLike(first, spans[at + 1])) text += spans[++at]?.text ?? "";
    const painted = first.tones.reduce((inner, tone) => paint[tone](inner), text);
    line +=
      first.href === undefined
        ? painted
        : `\u001b]8;;${first.href}\u001b\\${painted}\u001b]8;;\u001b\\`;
  }
  return line;
}

function looksLike(left: Span, right: Span | undefined): boolean {
  if (right === undefined || left.href !== right.href) return false;
  return left.tones === right.tones || left.tones.join() === right.tones.join();
}

/** Lines of at most `width` cells, broken between words; a longer word is cut. */
export function wrapSpans(spans: readonly Span[], width: number): readonly (readonly Span[])[] {
  const lines: Span[][] = [];
  let line: Span[] = [];
  let used = 0;
  /** The word that is being collected may consist of several spans: `**b**old`. */
  let word: Span[] = [];
  let space: Span | undefined;
  const close = () => {
    lines.push(line);
    [line, used, space] = [[], 0, undefined];
  };
  const place = () => {
    if (word.length === 0) return;
    const size = widthOfSpans(word);
    const before = space === undefined || used === 0 ? 0 : 1;
    if (used > 0 && used + before + size > width) close();
    else if (space !== undefined && before > 0) line.push(space);
    const pieces = size > width ? cutSpans(word, width) : [word];
    for (const [index, piece] of pieces.entries()) {
      if (index > 0) close();
      line.push(...piece);
    }
    used = widthOfSpans(line);
    [word, space] = [[], undefined];
  };
  for (const span of spans) {
    for (const part of span.text.match(/\n| +|[^ \n]+/g) ?? []) {
      if (part === "\n") {
        place();
        close();
      } else if (part.startsWith(" ")) {
        place();
        space = { ...span, text: " " };
      } else {
        word.push({ ...span, text: part });
      }
    }
  }
  place();
  if (line.length > 0 || lines.length === 0) close();
  return lines;
}

/** Lines of exactly the cells that fit, spaces included: for code, where each one counts. */
export function cutSpans(spans: readonly Span[], width: number): readonly (readonly Span[])[] {
  const lines: Span[][] = [[]];
  let used = 0;
  for (const span of spans) {
    const size = displayWidth(span.text);
    if (used + size <= width) {
      lines.at(-1)?.push(span);
      used += size;
      continue;
    }
    let piece = "";
    for (const grapheme of graphemesOf(span.text)) {
      const cells = displayWidth(grapheme);
      if (used + cells > width && used > 0) {
        if (piece !== "") lines.at(-1)?.push({ ...span, text: piece });
        lines.push([]);
        [piece, used] = ["", 0];
      }
      piece += grapheme;
      used += cells;
    }
    if (piece !== "") lines.at(-1)?.push({ ...span, text: piece });
  }
  return lines;
}
