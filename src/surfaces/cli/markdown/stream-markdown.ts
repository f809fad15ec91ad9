import type { Token } from "markdown-it";
import { headOf } from "../../../text.ts";
import { blocksOf, isTightList, parseMarkdown } from "./parse-markdown.ts";
import { drawBlocks, type MarkdownLook, renderMarkdown } from "./render-markdown.ts";

/** How far a growing text is drawn for good. */
export interface Progress {
  /** Everything before this place of the text is final. */
  readonly at: number;
  /** The line that the rest needs before it to be parsed: the first line of an open code block. */
  readonly opening: string;
  readonly hasGap: boolean;
}

export const streamStart: Progress = { at: 0, opening: "", hasGap: false };

/** An open block that is longer is cut, so that each look at the text costs the same. */
const longestOpen = 8_000;

/**
 * The parts of a growing text that have become final since `progress`: whole blocks, items of a
 * list, lines of code. No further text changes how they are drawn.
 * @example finishedParts("One.\n\nTw", streamStart) // one part: "One." and the empty line
 */
export function finishedParts(text: string, progress: Progress): readonly FinishedPart[] {
  const parts: FinishedPart[] = [];
  let from = progress;
  for (;;) {
    const to = nextProgress(text, from);
    if (to === null) return parts;
    parts.push({ from, to });
    from = to;
  }
}

interface FinishedPart {
  readonly from: Progress;
  readonly to: Progress;
}

/** Draws a part of a text that was drawn up to `from` before: a finished one, or the open rest. */
export function drawPart(part: string, from: Progress, look: MarkdownLook): readonly string[] {
  const tokens = parseMarkdown(from.opening + part);
  if (tokens === null) return renderMarkdown(part, look);
  return drawBlocks(tokens, look, { hasGap: from.hasGap, isContinued: from.opening !== "" });
}

/** A place in the parsed text, in lines. */
interface Cut {
  readonly line: number;
  readonly opening: string;
  readonly hasGap: boolean;
}

/** The next place up to which the text is final; null: no such place yet. */
function nextProgress(text: string, from: Progress): Progress | null {
  const isLong = text.length - from.at > longestOpen;
  // A line that is not complete can still become part of the block before it.
  const end = text.lastIndexOf("\n", from.at + longestOpen) + 1;
  if (end <= from.at) {
    return isLong ? { ...from, at: wordEnd(text, from.at), hasGap: false } : null;
  }
  const source = from.opening + text.slice(from.at, end);
  const lines = source.split("\n");
  const blocks = blocksOf(parseMarkdown(source) ?? []);
  const cut = cutInside(blocks.at(-1) ?? [], lines, isLong) ?? cutBefore(blocks);
  if (cut !== null) {
    const before = lines.slice(0, cut.line).reduce((sum, line) => sum + line.length + 1, 0);
    const at = from.at + before - from.opening.length;
    if (at > from.at) return { at, opening: cut.opening, hasGap: cut.hasGap };
  }
  return isLong ? { at: end, opening: "", hasGap: false } : null;
}

function cutBefore(blocks: readonly (readonly Token[])[]): Cut | null {
  const [line] = blocks.at(-1)?.[0]?.map ?? [];
  if (line === undefined || blocks.length < 2) return null;
  return { line, opening: "", hasGap: true };
}

/** Before the last item of a list, after the last line of open code, and in a table that is too long. */
function cutInside(block: readonly Token[], lines: readonly string[], isLong: boolean): Cut | null {
  const [first] = block;
  const [start = 0, after = 0] = first?.map ?? [];
  const whole = lines.length - 1;
  if (first?.type === "fence") {
    if (first.content === "") return null;
    const last = lines[after - 1]?.trim() ?? "";
    const isClosed = after - 1 > start && last.startsWith(first.markup) && !/[^`~]/.test(last);
    const language = first.info.trim().split(/\s/)[0] ?? "";
    return isClosed
      ? null
      : { line: whole, opening: `${first.markup}${language}\n`, hasGap: false };
  }
  if (first?.type.endsWith("_list_open")) {
    const inner = block.slice(1, -1);
    const items = blocksOf(inner);
    const [line] = items.at(-1)?.[0]?.map ?? [];
    if (line === undefined || items.length < 2) return null;
    return { line, opening: "", hasGap: !isTightList(first, inner) };
  }
  if (first?.type === "table_open" && isLong) {
    const head = lines.slice(start, start + 2).join("\n");
    return { line: whole, opening: `${head}\n`, hasGap: false };
  }
  return null;
}

function wordEnd(text: string, from: number): number {
  const space = text.lastIndexOf(" ", from + longestOpen);
  return space > from
    ? space
    : from + headOf(text.slice(from, from + longestOpen + 64), longestOpen).length;
}
