/**
 * Markdown of models for terminals: what `run` and `chat` print. Pure. The text is untrusted: nothing in
 * it reaches the terminal as a control sequence.
 */
import type { Token } from "markdown-it";
import { wrapText } from "../../tui/draw/wrap-text.ts";
import { displayWidth } from "../display-width.ts";
import { printable } from "../printable.ts";
import type { Style } from "../style.ts";
import { fitTable, type Table } from "./fit-table.ts";
import { highlightCode } from "./highlight-code.ts";
import { inlineSpans } from "./inline-spans.ts";
import { blocksOf, checkOf, isTightList, parseMarkdown } from "./parse-markdown.ts";
import { cutSpans, paintSpans, type Span, spanOf, widthOfSpans, wrapSpans } from "./spans.ts";

export interface MarkdownLook {
  readonly columns: number;
  readonly style: Style;
  /** The terminal is known to open links (OSC 8); see `opensLinks`. */
  readonly hasLinks?: boolean;
}

/**
 * A text as lines of at most `columns` cells, without control sequences but colours and links.
 * @example renderMarkdown("# Title\n\n- one", { columns: 80, style }) // ["Title", "", "• one"]
 */
export function renderMarkdown(text: string, look: MarkdownLook): readonly string[] {
  const tokens = parseMarkdown(text);
  return tokens === null
    ? wrapText(printable(text), look.columns)
    : drawBlocks(tokens, look, { hasGap: false });
}

/** How a part of a text joins what was drawn before it. */
export interface Joint {
  /** A blank line comes before the first block. */
  readonly hasGap: boolean;
  /** The first block began earlier, and may have nothing left to draw. */
  readonly isContinued?: boolean;
  /** The blocks are those of a list item without blank lines. */
  readonly isTight?: boolean;
}

/** Sibling blocks as lines, with a blank line between them. */
export function drawBlocks(
  tokens: readonly Token[],
  look: MarkdownLook,
  { hasGap, isContinued, isTight }: Joint,
): readonly string[] {
  const lines: string[] = [];
  let needsGap = hasGap;
  for (const [index, block] of blocksOf(tokens).entries()) {
    const drawn = drawBlock(block, look);
    if (drawn.length > 0 && needsGap) lines.push("");
    for (const line of drawn) lines.push(line);
    if (drawn.length > 0 || (index === 0 && isContinued)) needsGap = !isTight;
  }
  return lines;
}

function drawBlock(block: readonly Token[], look: MarkdownLook): readonly string[] {
  const [first] = block;
  const { columns, style } = look;
  const { paint } = style;
  const isUnicode = style.glyphs.dot === "·";
  const inner = block.slice(1, -1);
  switch (first?.type) {
    case "heading_open": {
      const level = Number(first.tag.slice(1));
      const tones = level === 1 ? (["strong", "underlined"] as const) : (["strong"] as const);
      // Without colours, the signs are all that tells a heading from a paragraph.
      const sign = isColoured(style) ? [] : [spanOf(`${"#".repeat(level)} `)];
      return drawSpans([...sign, ...spansIn(inner, look, tones)], look);
    }
    case "hr":
      return [paint.dim((isUnicode ? "─" : "-").repeat(columns))];
    case "fence":
    case "code_block":
      return drawCode(first, look);
    case "blockquote_open": {
      const bar = `${isUnicode ? "│" : "|"} `;
      return hang(inner, look, { first: paint.dim(bar), more: paint.dim(bar), isTight: false });
    }
    case "bullet_list_open":
    case "ordered_list_open":
      return drawList(first, inner, look);
    case "table_open":
      return fitTable(tableOf(inner, look), columns, style);
    case "paragraph_open":
      return drawSpans(spansIn(inner, look), look);
    default:
      return drawSpans(spansIn(block, look), look);
  }
}

function isColoured({ paint }: Style): boolean {
  return paint.strong("x") !== "x";
}

function spansIn(
  tokens: readonly Token[],
  { style, hasLinks = false }: MarkdownLook,
  tones: Span["tones"] = [],
): readonly Span[] {
  const inlineLook = { hasLinks, isColoured: isColoured(style) };
  return tokens.flatMap(({ children, content }) =>
    children === null ? [spanOf(content, tones)] : inlineSpans(children, inlineLook, tones),
  );
}

function drawSpans(spans: readonly Span[], { columns, style }: MarkdownLook): readonly string[] {
  return wrapSpans(spans, columns).map((line) => paintSpans(line, style.paint));
}

function drawCode({ content, info }: Token, { columns, style }: MarkdownLook): readonly string[] {
  if (content === "") return [];
  const code = content.replace(/\n$/, "");
  const [language = "", ...title] = info.trim().split(/\s+/);
  const margin = columns > 20 ? "  " : "";
  const width = columns - margin.length;
  const label = title.length === 0 ? [] : [[spanOf(title.join(" "), ["dim"])]];
  return [...label, ...highlightCode(code, language)]
    .flatMap((line) => cutSpans(line, width))
    .map((line) => (widthOfSpans(line) === 0 ? "" : margin + paintSpans(line, style.paint)));
}

/** Below this, deeper blocks are drawn without further indentation. */
const narrowest = 12;

/** Renders blocks with a sign before their first line and an indentation before the others. */
function hang(
  tokens: readonly Token[],
  look: MarkdownLook,
  { first, more, isTight }: { first: string; more: string; isTight: boolean },
): readonly string[] {
  const columns = look.columns - displayWidth(first);
  if (columns < narrowest) return drawBlocks(tokens, look, { hasGap: false, isTight });
  const lines = drawBlocks(tokens, { ...look, columns }, { hasGap: false, isTight });
  if (lines.length === 0) return [first.trimEnd()];
  return lines.map((line, index) => (index === 0 ? first + line : (more + line).trimEnd()));
}

function drawList(list: Token, inner: readonly Token[], look: MarkdownLook): readonly string[] {
  const { glyphs, paint } = look.style;
  const isUnicode = glyphs.dot === "·";
  const items = blocksOf(inner);
  const from = Number(list.attrGet("start") ?? 1);
  const widest = String(from + items.length - 1).length;
  const isTight = isTightList(list, inner);
  const lines: string[] = [];
  for (const [index, item] of items.entries()) {
    const checked = checkOf(item);
    const number = `${from + index}.`.padStart(widest + 1);
    const bullet = list.type === "ordered_list_open" ? number : isUnicode ? "•" : "-";
    const box = checked === null ? "" : boxOf(checked, isUnicode);
    const sign = list.type === "ordered_list_open" || checked === null ? `${bullet} ${box}` : box;
    const hanging = { first: paint.accent(sign), more: " ".repeat(displayWidth(sign)), isTight };
    if (index > 0 && !isTight) lines.push("");
    for (const line of hang(item.slice(1, -1), look, hanging)) lines.push(line);
  }
  return lines;
}

function boxOf(isChecked: boolean, isUnicode: boolean): string {
  if (!isUnicode) return isChecked ? "[x] " : "[ ] ";
  return isChecked ? "☑ " : "☐ ";
}

function tableOf(inner: readonly Token[], look: MarkdownLook): Table {
  const rows: (readonly Span[])[][] = [];
  const alignments: Table["alignments"][number][] = [];
  for (const [at, token] of inner.entries()) {
    if (token.type === "tr_open") rows.push([]);
    if (token.type !== "th_open" && token.type !== "td_open") continue;
    const isHead = token.type === "th_open";
    if (isHead) {
      const style = String(token.attrGet("style") ?? "");
      alignments.push(
        style.endsWith("right") ? "right" : style.endsWith("center") ? "center" : "left",
      );
    }
    rows.at(-1)?.push(spansIn(inner.slice(at + 1, at + 2), look, isHead ? ["strong"] : []));
  }
  return { rows, alignments };
}
