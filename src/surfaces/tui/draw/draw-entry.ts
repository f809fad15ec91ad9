import { displayWidth, shorten } from "../../cli/display-width.ts";
import { type MarkdownLook, renderMarkdown } from "../../cli/markdown/render-markdown.ts";
import { drawPart, type Progress } from "../../cli/markdown/stream-markdown.ts";
import { printable, printableLine } from "../../cli/printable.ts";
import type { Style } from "../../cli/style.ts";
import type { Entry, EntryMark, NoteTone } from "../entry.ts";
import { drawPatch } from "./draw-patch.ts";
import { wholeLines } from "./draw-whole.ts";
import { wrapText } from "./wrap-text.ts";

/** More than this of one text is for `mandate sessions show`; a terminal would only scroll. */
const longestText = 60_000;

/** What is beside the margin and the mark of an entry. */
export function roomIn(columns: number): number {
  return Math.max(10, columns - 3);
}

/** An entry as lines of at most `columns` cells, without control sequences but colours. */
function drawEntry(entry: Entry, columns: number, style: Style): readonly string[] {
  const { glyphs, paint } = style;
  const room = roomIn(columns);
  const cut = (text: string) => shorten(printableLine(text), room, glyphs.ellipsis);
  switch (entry.kind) {
    case "person":
      return hang(wrapText(bounded(entry.text), room), `${promptOf(style)} `, paint.accent);
    case "agent":
      return drawSaid(entry, room, style);
    case "line": {
      const mark = drawMark(entry.mark, style);
      const who = cut(entry.who);
      const text = shorten(
        printableLine(entry.text),
        room - displayWidth(who) - 2,
        glyphs.ellipsis,
      );
      const most = entry.mark === "done" ? 1 : mostOfDetail;
      const detail = firstLines(printableLine(entry.detail ?? ""), room, most, glyphs.ellipsis);
      return [
        `${mark} ${paint.strong(who)}${text === "" ? "" : `  ${text}`}`,
        ...detail.map((line) => `  ${paint.dim(line)}`),
        ...(entry.patch === undefined
          ? []
          : indent(firstOf(drawPatch(entry.patch, room - 2, style), style))),
      ];
    }
    case "patch":
      return indent(drawPatch(bounded(entry.text), room - 2, style));
    case "page":
      return printable(entry.text.slice(0, longestText))
        .split("\n")
        .flatMap((line) => wrapText(line, room))
        .map((line) => (/^\S/.test(line) ? ` ${paint.strong(line)}` : ` ${line}`));
    case "output": {
      const failed =
        entry.code === 0 ? "" : ` (${entry.code === null ? "stopped" : `exit ${entry.code}`})`;
      const lines = wrapText(bounded(entry.text.trimEnd()), room - 2);
      return [
        `${paint.accent(`! ${shorten(printableLine(entry.command), room - failed.length, glyphs.ellipsis)}`)}${paint.bad(failed)}`,
        ...(lines.join("") === "" ? [] : lines.map((line) => `  ${bar(style)} ${line}`)),
        `  ${paint.dim(cut("The agent gets this with your next message, as untrusted input."))}`,
      ];
    }
    case "question": {
      const answer = entry.answer === null ? "not answered" : printableLine(entry.answer);
      const asked = firstOf(wholeLines({ text: entry.text }, columns, style), style);
      return [
        `${glyphs.asking} ${cut(`${entry.who} asked`)}`,
        ...asked.map((line) => `  ${bar(style)} ${line}`),
        ...hang(wrapText(answer, room - 3), `  ${glyphs.arrow} `, paint.accent),
      ];
    }
    case "remark": {
      const tone = entry.severity === "info" ? paint.dim : paint.warn;
      const said = `${printableLine(entry.from)}: ${bounded(entry.text)}`;
      return hang(wrapText(said, room), `${glyphs.stem.trimEnd()} `, tone);
    }
    case "reply": {
      const tone = entry.ok ? (text: string) => text : paint.bad;
      return [
        paint.accent(`${promptOf(style)} ${cut(entry.command)}`),
        ...wrapText(bounded(entry.text.trimEnd()), room).map((line) => `  ${tone(line)}`),
      ];
    }
    case "note":
      return hang(wrapText(bounded(entry.text), room), `${glyphs.dot} `, toneOf(entry.tone, style));
    case "rule":
      return [paint.dim(drawRule(entry.text, columns, style))];
    default:
      return entry satisfies never;
  }
}

/** Markdown of an agent; `from`: how far the text was drawn before. */
export function drawMarkdown(
  text: string,
  from: Progress | undefined,
  look: MarkdownLook,
): readonly string[] {
  return from === undefined ? renderMarkdown(text, look) : drawPart(text, from, look);
}

/** What an agent said. The first line of an answer has a mark; later lines are indented as far. */
function drawSaid(entry: Extract<Entry, { kind: "agent" }>, room: number, style: Style) {
  const lines = drawMarkdown(bounded(entry.text), entry.from, { columns: room, style });
  const isFirst = entry.from === undefined || entry.from.at === 0;
  return hang(lines, isFirst ? `${bulletOf(style)} ` : "  ");
}

/** Lines that say why something failed. */
const mostOfDetail = 3;

function firstLines(text: string, room: number, most: number, ellipsis: string): readonly string[] {
  if (text === "") return [];
  const lines = wrapText(text, room);
  if (lines.length <= most) return lines;
  const last = shorten(lines.slice(most - 1).join(" "), room, ellipsis);
  return [...lines.slice(0, most - 1), last];
}

const mostOfPatch = 40;

function firstOf(lines: readonly string[], { glyphs, paint }: Style): readonly string[] {
  const more = lines.length - mostOfPatch;
  if (more <= 1) return lines;
  return [...lines.slice(0, mostOfPatch), paint.dim(`${glyphs.ellipsis} ${more} more lines`)];
}

function indent(lines: readonly string[]): readonly string[] {
  return lines.map((line) => `  ${line}`);
}

function bar({ glyphs, paint }: Style): string {
  return paint.dim(glyphs.stem.trimEnd());
}

/** An entry as lines, with a blank line before it where it is separated from the previous one. */
export function drawApart(
  entry: Entry,
  previous: Entry | undefined,
  columns: number,
  style: Style,
): readonly string[] {
  return [...(needsSpace(entry, previous) ? [""] : []), ...drawEntry(entry, columns, style)];
}

const small: ReadonlySet<Entry["kind"]> = new Set(["line", "note", "remark"]);

/** Lines, notes and remarks follow each other without a gap. */
function needsSpace(entry: Entry, previous: Entry | undefined): boolean {
  if (previous === undefined) return true;
  if (previous.kind === "rule" && entry.kind === "note") return false;
  // The gaps within an answer are its own.
  if (entry.kind === "agent" && entry.from !== undefined && entry.from.at > 0) return false;
  return !small.has(entry.kind) || !small.has(previous.kind);
}

function bounded(text: string): string {
  const clean = printable(text.slice(0, longestText));
  return text.length > longestText
    ? `${clean}\n(${text.length - longestText} more characters)`
    : clean;
}

/** The mark before the first line, and room for it before the others. */
function hang(
  lines: readonly string[],
  mark: string,
  tone: (text: string) => string = (text) => text,
): readonly string[] {
  const blank = " ".repeat([...mark].length);
  return lines.map((line, index) => tone((index === 0 ? mark : blank) + line).trimEnd());
}

export function promptOf({ glyphs }: Style): string {
  return glyphs.arrow === "→" ? "›" : ">";
}

export function bulletOf({ glyphs }: Style): string {
  return glyphs.arrow === "→" ? "●" : "*";
}

/** A line across the screen, with a word in it. */
export function drawRule(text: string, columns: number, { glyphs }: Style): string {
  const dash = glyphs.arrow === "→" ? "─" : "-";
  const word = shorten(printableLine(text), Math.max(0, columns - 8), glyphs.ellipsis);
  const label = word === "" ? "" : ` ${word} `;
  const lead = dash.repeat(2) + label;
  return lead + dash.repeat(Math.max(0, columns - 1 - displayWidth(lead)));
}

function drawMark(mark: EntryMark, { glyphs, paint }: Style): string {
  switch (mark) {
    case "done":
      return paint.good(glyphs.done);
    case "failed":
      return paint.bad(glyphs.failed);
    case "refused":
      return paint.warn(glyphs.refused);
    case "stopped":
      return paint.warn(glyphs.stopped);
    case "unknown":
      return paint.warn(glyphs.asking);
    default:
      return mark satisfies never;
  }
}

function toneOf(tone: NoteTone, { paint }: Style): (text: string) => string {
  return tone === "plain" ? paint.dim : paint[tone];
}
