import { shorten } from "../../cli/display-width.ts";
import { printable } from "../../cli/printable.ts";
import type { Style } from "../../cli/style.ts";
import { wrapText } from "./wrap-text.ts";

const longest = 20_000;
/** What stands before each line. */
const margin = 4;

/** A question as lines for a screen of this width. What is left out says so: it may be a consent. */
export function wholeLines(text: string, columns: number): readonly string[] {
  const more = text.length - longest;
  const said = printable(text.slice(0, longest)).trim();
  const all = more > 0 ? `${said}\n(${more} more characters: mandate inbox)` : said;
  return wrapText(all, Math.max(10, columns - margin - 2));
}

/**
 * As many of the lines as there is room for, and how many are missing. Each has a bar before it:
 * nothing that is asked can pass for what stands around it.
 */
export function drawWhole(
  lines: readonly string[],
  { columns, most, top, how }: WholeFrame,
  { glyphs, paint }: Style,
): readonly string[] {
  const bar = paint.dim(glyphs.stem.trimEnd());
  const barred = (shown: readonly string[]) => shown.map((line) => `  ${bar} ${line}`);
  if (lines.length <= most) return barred(lines);
  const room = Math.max(1, most - 1);
  const first = Math.max(0, Math.min(top, lines.length - room));
  const shown = lines.slice(first, first + room);
  const left = lines.length - first - shown.length;
  const note = shorten(left === 0 ? `the end, ${how}` : `${left} more lines, ${how}`, columns - 5);
  return [...barred(shown), `  ${paint.warn(note)}`];
}

export interface WholeFrame {
  readonly columns: number;
  /** Lines, with the one that tells what is missing. */
  readonly most: number;
  /** The first line that is shown. */
  readonly top: number;
  /** Where, or with which key, the rest is to be read. */
  readonly how: string;
}
