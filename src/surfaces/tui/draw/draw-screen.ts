import { formatElapsed, formatSpan } from "../../cli/amounts.ts";
import { padEnd, shorten } from "../../cli/display-width.ts";
import { printable, printableLine } from "../../cli/printable.ts";
import type { Style } from "../../cli/style.ts";
import { beatOf, type ChatState, isTooSmall, openQuestions, tooSmallText } from "../chat-state.ts";
import type { Turn } from "../turn.ts";
import { drawInput } from "./draw-input.ts";
import { drawLedger, drawStatus } from "./draw-ledger.ts";
import { drawPanel } from "./draw-panel.ts";
import { drawWhole, wholeLines } from "./draw-whole.ts";
import { drawProse, wrapText } from "./wrap-text.ts";

export interface DrawnScreen {
  readonly lines: readonly string[];
  /** Null: there is nothing to type into. */
  readonly cursor: { readonly x: number; readonly y: number } | null;
}

/**
 * The live part below the conversation. It always has fewer lines than the terminal, so that Ink
 * repaints it in place and no line of it scrolls away.
 */
export function drawScreen(state: ChatState, style: Style): DrawnScreen {
  if (state.isClosed) return { lines: [], cursor: null };
  if (isTooSmall(state)) return { lines: drawTooSmall(state), cursor: null };
  const height = state.rows - 1;
  const ledger = state.agents.length === 0 ? [] : [drawLedger(state, style)];
  const foot = [...ledger, ...drawStatus(state, style)];
  const input = drawInput(state, style, Math.max(2, Math.min(9, Math.floor(height / 2))));
  // A blank line separates the conversation from the input.
  const room = height - foot.length - input.lines.length - 1;
  if (state.panel.is !== "none") {
    const panel = drawPanel(state, style, Math.max(3, room));
    return { lines: [...panel, ...input.lines, ...foot], cursor: null };
  }
  const completion = drawCompletion(state, style).slice(0, Math.max(0, room));
  const below = [...drawQuestion(state, style, room - completion.length), ...completion];
  const above = drawTurn(state, style, room - below.length);
  const head = [...above, ...below, ""];
  return {
    lines: [...head, ...input.lines, ...foot],
    cursor: { x: input.cursor.x, y: head.length + input.cursor.y },
  };
}

function drawTooSmall({ columns, rows }: ChatState): readonly string[] {
  return wrapText(tooSmallText, columns - 1).slice(0, Math.max(1, rows - 1));
}

/** The current turn: streamed text, open calls and children; its last lines if not all fit. */
function drawTurn(state: ChatState, style: Style, room: number): readonly string[] {
  const { turn } = state;
  if (turn === null || room < 1) return [];
  const { glyphs, paint } = style;
  const width = Math.max(10, state.columns - 3);
  const spinner = glyphs.spinner[beatOf(state) % glyphs.spinner.length] ?? "";
  const cut = (text: string, less = 0) => shorten(text, width - less, glyphs.ellipsis);
  const open = [
    ...turn.calls
      .filter(({ isShownOtherwise }) => !isShownOtherwise)
      .map(({ about, tool }) => cut(`${printableLine(tool)}  ${about}`)),
    ...turn.children.map(({ id, label, title, createdAt }) => {
      const state_ = state.agents.find((agent) => agent.id === id)?.state ?? "";
      const time = formatElapsed(state.now - createdAt);
      return cut(`${printableLine(label)}  ${printableLine(title)}  ${state_} ${time}`);
    }),
  ];
  const mostOpen = Math.max(1, Math.min(6, Math.floor(room / 2)));
  const hidden = open.length - mostOpen;
  const lines = open
    .slice(0, hidden > 0 ? mostOpen - 1 : mostOpen)
    .map((line) => `${paint.accent(spinner)} ${line}`);
  const doing = hidden > 0 ? [...lines, paint.dim(`  and ${hidden + 1} more (Ctrl+T)`)] : lines;
  const queued = state.queued
    .map((text) => paint.dim(`  next: ${cut(printableLine(text), 6)}`))
    .slice(0, 2);
  const rest = room - doing.length - queued.length - 1;
  const said = drawStreamed(turn.streamed, width, rest, style);
  const waits = said.length === 0 && doing.length === 0;
  const word = wordOf(state, turn);
  const idle = `${paint.accent(spinner)} ${paint.dim(`${word} ${formatElapsed(state.now - turn.startedAt)}`)}`;
  return ["", ...said, ...doing, ...(waits || turn.ending !== "no" ? [idle] : []), ...queued].slice(
    -Math.max(1, room),
  );
}

function wordOf({ agents }: ChatState, { ending, rootId }: Turn): string {
  if (ending === "cancel") return "ending";
  if (ending !== "no") return "ending when those who go on have finished";
  return agents.some(({ id, isAsking }) => id === rootId && isAsking)
    ? "waits for you"
    : "thinking";
}

/** The last lines of a streamed answer. The complete answer becomes an entry. */
function drawStreamed(
  streamed: string,
  width: number,
  room: number,
  style: Style,
): readonly string[] {
  if (streamed.trim() === "" || room < 1) return [];
  const tail = printable(streamed.slice(-width * (room + 4)));
  const lines = drawProse(tail, width, style);
  const isCut = lines.length > room || tail.length < streamed.length - 1;
  const shown = lines.slice(-room);
  const bullet = style.glyphs.arrow === "→" ? "●" : "*";
  return shown.map((line, index) => {
    const mark =
      index > 0 ? " " : isCut ? style.paint.dim(style.glyphs.ellipsis.slice(0, 1)) : bullet;
    return `${mark} ${line}`;
  });
}

const mostCandidates = 6;

/** The completions of the command that is being typed. */
function drawCompletion(state: ChatState, style: Style): readonly string[] {
  const { completion } = state;
  if (completion === null) return [];
  const { glyphs, paint } = style;
  const { candidates, chosen } = completion;
  const first = Math.max(0, Math.min(chosen - 2, candidates.length - mostCandidates));
  const shown = candidates.slice(first, first + mostCandidates);
  const width = Math.min(28, state.columns - 8, Math.max(...shown.map(({ text }) => text.length)));
  const room = Math.max(0, state.columns - width - 6);
  return shown.map(({ description, text }, index) => {
    const name = padEnd(shorten(printableLine(text), width, glyphs.ellipsis), width);
    const about =
      room < 10 ? "" : paint.dim(shorten(printableLine(description), room, glyphs.ellipsis));
    return first + index === chosen
      ? `${paint.accent(`${glyphs.arrow} ${name}`)}  ${about}`
      : `  ${name}  ${about}`;
  });
}

/** The oldest question that waits, above where it can be answered. */
function drawQuestion(state: ChatState, style: Style, room: number): readonly string[] {
  const { glyphs, paint } = style;
  const open = openQuestions(state);
  const question = state.answering?.question ?? open[0];
  if (question === undefined || room < 3) return [];
  const width = Math.max(10, state.columns - 4);
  const left = formatSpan(Math.max(0, question.deadlineAt - state.now));
  const then = question.default === null ? "" : `, then "${printableLine(question.default)}"`;
  const others = open.length > 1 ? `, ${open.length - 1} more` : "";
  const how = state.answering === null ? ` ${glyphs.dot} Tab answers` : "";
  const space = room < 6 ? [] : [""];
  const most = Math.max(1, Math.min(Math.floor(state.rows / 3), room - space.length - 2));
  const frame = { columns: state.columns, most, top: 0, how: "Ctrl+O shows all" };
  return [
    ...space,
    `${paint.warn(glyphs.asking)} ${paint.strong(shorten(printableLine(question.title), width, glyphs.ellipsis))}`,
    ...drawWhole(wholeLines(question.text, state.columns), frame, style).slice(0, most),
    `  ${paint.dim(shorten(`${left} left${then}${others}${how}`, width, glyphs.ellipsis))}`,
  ];
}
