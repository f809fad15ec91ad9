import { shorten } from "../../cli/display-width.ts";
import { printable } from "../../cli/printable.ts";
import type { Style } from "../../cli/style.ts";
import type { OpenQuestion } from "../chat-state.ts";
import { drawPatch } from "./draw-patch.ts";
import { wrapText } from "./wrap-text.ts";

const longest = 200_000;
/** Cells before each line. */
const margin = 4;

type Asked = Pick<OpenQuestion, "patch" | "text">;

let last: { readonly key: readonly unknown[]; readonly lines: readonly string[] } | undefined;

/**
 * A question as lines for this width, with the edit that it is about as a diff. A cut is stated,
 * because the answer may be an approval. The same question is on the screen for many frames, so its
 * lines are kept.
 */
export function wholeLines(asked: Asked, columns: number, style: Style): readonly string[] {
  const key = [asked.text, asked.patch, columns, style];
  if (last === undefined || last.key.some((part, place) => part !== key[place])) {
    last = { key, lines: linesOf(asked, Math.max(10, columns - margin - 2), style) };
  }
  return last.lines;
}

function linesOf({ patch, text }: Asked, width: number, style: Style): readonly string[] {
  const more = text.length - longest;
  const said = printable(text.slice(0, longest)).trim();
  const all = more > 0 ? `${said}\n(${more} more characters: mandate inbox)` : said;
  const at = patchIn(all);
  const asked = wrapText(all.slice(0, at).trimEnd(), width);
  const changed = patch ?? all.slice(at);
  return changed === "" ? asked : [...asked, ...drawPatch(changed, width, style)];
}

/** Where the diff of a question begins: that of a merge is the end of its text. */
function patchIn(text: string): number {
  const at = text.search(/^diff --git /m);
  return at < 0 ? text.length : at;
}

/**
 * As many of the lines as fit, and how many are missing. Each line has a bar before it, so that the
 * text of a question cannot imitate the interface.
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
  /** The number of lines, including the one about missing lines. */
  readonly most: number;
  /** The first line that is shown. */
  readonly top: number;
  /** The key that shows the rest. */
  readonly how: string;
}
