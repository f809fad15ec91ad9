/**
 * Markdown of models for terminals: what `run` and `chat` print. Pure; loads the parser `markdown-it`,
 * which an installation may leave out. The text is untrusted: nothing in it reaches the terminal as a
 * control sequence, nothing of it is hidden, and the time is linear in its length.
 */
import MarkdownIt, { type Token } from "markdown-it";
import { wrapText } from "../../tui/draw/wrap-text.ts";
import { displayWidth } from "../display-width.ts";
import { printable } from "../printable.ts";
import type { Style } from "../style.ts";
import { fitTable, type Table } from "./fit-table.ts";
import { highlightCode } from "./highlight-code.ts";
import { inlineSpans } from "./inline-spans.ts";
import { cutSpans, paintSpans, type Span, spanOf, widthOfSpans, wrapSpans } from "./spans.ts";

export interface MarkdownLook {
  readonly columns: number;
  readonly style: Style;
  /** The terminal is known to open links (OSC 8); see `opensLinks`. */
  readonly hasLinks?: boolean;
}

// A definition of a link or a tag of HTML would hide text from the reader: both stay as written.
const parser = new MarkdownIt({ html: false, linkify: false }).disable(["reference", "html_block"]);

/** markdown-it leaves out what is nested deeper than 100 levels. */
const deepest = 90;

/** The blocks of a text, or null where it is nested too deeply to be more than plain text. */
export function parseMarkdown(text: string): readonly Token[] | null {
  const tokens = parser.parse(text, {});
  return tokens.some(({ level }) => level >= deepest) ? null : tokens;
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

/** The tokens of each block at the level of the first one. */
export function blocksOf(tokens: readonly Token[]): readonly (readonly Token[])[] {
  const blocks: (readonly Token[])[] = [];
  let depth = 0;
  let from = 0;
  for (const [at, { nesting }] of tokens.entries()) {
    depth += nesting;
    if (depth > 0) continue;
    blocks.push(tokens.slice(from, at + 1));
    from = at + 1;
  }
  return blocks;
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

/** Blocks with a sign before their first line and an indentation before the others. */
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

const task = /^\[(?<mark>[ xX])\] /;

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
    const content = checked === null ? item.slice(1, -1) : withoutBox(item.slice(1, -1));
    const hanging = { first: paint.accent(sign), more: " ".repeat(displayWidth(sign)), isTight };
    if (index > 0 && !isTight) lines.push("");
    for (const line of hang(content, look, hanging)) lines.push(line);
  }
  return lines;
}

/** Without blank lines between its items. */
export function isTightList({ level }: Token, inner: readonly Token[]): boolean {
  const paragraph = inner.find(
    (each) => each.type === "paragraph_open" && each.level === level + 2,
  );
  return paragraph?.hidden ?? true;
}

function checkOf(item: readonly Token[]): boolean | null {
  const [, paragraph, text] = item;
  if (paragraph?.type !== "paragraph_open") return null;
  const mark = task.exec(text?.content ?? "")?.groups?.["mark"];
  return mark === undefined ? null : mark !== " ";
}

function boxOf(isChecked: boolean, isUnicode: boolean): string {
  if (!isUnicode) return isChecked ? "[x] " : "[ ] ";
  return isChecked ? "☑ " : "☐ ";
}

/** An item's tokens without the box at the beginning of its text. */
function withoutBox([paragraph, text, ...more]: readonly Token[]): readonly Token[] {
  const [first] = text?.children ?? [];
  if (paragraph === undefined || text === undefined) return more;
  if (first !== undefined) first.content = first.content.replace(task, "");
  return [paragraph, text, ...more];
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
