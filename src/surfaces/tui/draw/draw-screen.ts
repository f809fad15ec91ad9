import { formatElapsed, formatSpan } from "../../cli/amounts.ts";
import { displayWidth, padEnd, shorten } from "../../cli/display-width.ts";
import { printableLine } from "../../cli/printable.ts";
import type { Style } from "../../cli/style.ts";
import {
  beatOf,
  type ChatCandidate,
  type ChatState,
  isTooSmall,
  openQuestions,
  tooSmallText,
} from "../chat-state.ts";
import type { Turn } from "../turn.ts";
import { bulletOf, drawMarkdown } from "./draw-entry.ts";
import { drawInput } from "./draw-input.ts";
import { drawLedger, drawStatus } from "./draw-ledger.ts";
import { drawPanel } from "./draw-panel.ts";
import { drawWhole, wholeLines } from "./draw-whole.ts";
import { wrapText } from "./wrap-text.ts";

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
  const shell = drawShell(state, style);
  const above = drawTurn(state, style, room - below.length - shell.length);
  const head = [...above, ...shell, ...below, ""];
  return {
    lines: [...head, ...input.lines, ...foot],
    cursor: { x: input.cursor.x, y: head.length + input.cursor.y },
  };
}

/** The command of the person that runs. */
function drawShell(
  { columns, now, shell }: ChatState,
  { glyphs, paint }: Style,
): readonly string[] {
  if (shell === null) return [];
  const after = ` ${formatElapsed(now - shell.startedAt)}, Esc stops it`;
  const command = shorten(
    printableLine(shell.command),
    columns - after.length - 4,
    glyphs.ellipsis,
  );
  return ["", `${paint.accent("!")} ${command}${paint.dim(after)}`];
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
  const said = drawStreamed(turn, width, rest, style);
  const waits = said.length === 0 && doing.length === 0;
  const word = wordOf(state, turn);
  const idle = `${paint.accent(spinner)} ${paint.dim(`${word} ${formatElapsed(state.now - turn.startedAt)}`)}`;
  // The open part of an answer continues what stands above it.
  const gap = said.length > 0 && turn.progress.at > 0 ? [] : [""];
  return [
    ...gap,
    ...said,
    ...doing,
    ...(waits || turn.ending !== "no" ? [idle] : []),
    ...queued,
  ].slice(-Math.max(1, room));
}

function wordOf({ agents }: ChatState, { ending, rootId }: Turn): string {
  if (ending === "cancel") return "stopping";
  if (ending !== "no") return "stopping after its sub-agents have finished";
  return agents.some(({ id, isAsking }) => id === rootId && isAsking)
    ? "waits for you"
    : "thinking";
}

/** The last lines of the part of a streamed answer that can still change. */
function drawStreamed(
  { progress, streamed }: Turn,
  columns: number,
  room: number,
  style: Style,
): readonly string[] {
  if (streamed.trim() === "" || room < 1) return [];
  const lines = drawMarkdown(streamed, progress, { columns, style });
  const shown = lines.slice(-room);
  const isCut = lines.length > room;
  const first = isCut
    ? style.paint.dim(style.glyphs.ellipsis.slice(0, 1))
    : progress.at > 0
      ? " "
      : bulletOf(style);
  return shown.map((line, index) => `${index === 0 ? first : " "} ${line}`);
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
  const isDescribed = shown.some(({ description }) => description !== "");
  const most = isDescribed ? Math.min(28, state.columns - 8) : state.columns - 4;
  const width = Math.min(most, Math.max(...shown.map((one) => displayWidth(labelOf(one)))));
  const room = Math.max(0, state.columns - width - 6);
  return shown.map((candidate, index) => {
    const { description } = candidate;
    const name = padEnd(shorten(labelOf(candidate), width, glyphs.ellipsis), width);
    const about =
      room < 10 ? "" : paint.dim(shorten(printableLine(description), room, glyphs.ellipsis));
    return first + index === chosen
      ? `${paint.accent(`${glyphs.arrow} ${name}`)}  ${about}`
      : `  ${name}  ${about}`;
  });
}

function labelOf({ label, text }: ChatCandidate): string {
  return printableLine(label ?? text);
}

/**
 * The question that Enter answers, or the oldest other one of this conversation. Questions of other runs
 * are in the inbox: a line says whose they are.
 */
function drawQuestion(state: ChatState, style: Style, room: number): readonly string[] {
  const { glyphs, paint } = style;
  const open = openQuestions(state);
  const question = state.answering?.question ?? open[0];
  if (question === undefined || room < 3) return [];
  const width = Math.max(10, state.columns - 4);
  const cut = (text: string) => shorten(text, width, glyphs.ellipsis);
  const title = cut(printableLine(question.title));
  const space = room < 6 ? [] : [""];
  if (!question.isHere && state.answering === null) {
    const more = open.length > 1 ? `, and ${open.length - 1} more` : "";
    const task = printableLine(question.task);
    const about = cut(`in another run${task === "" ? "" : `: ${task}`}`);
    return [
      ...space,
      `${paint.dim(glyphs.asking)} ${title}`,
      `  ${paint.dim(about)}`,
      `  ${paint.dim(cut(`Ctrl+O shows it${more}`))}`,
    ].slice(0, room);
  }
  const left = formatSpan(Math.max(0, question.deadlineAt - state.now));
  const then = question.default === null ? "" : `, then "${printableLine(question.default)}"`;
  const others = open.length > 1 ? `, ${open.length - 1} more in the inbox` : "";
  const how = state.answering === null ? ` ${glyphs.dot} Tab answers` : "";
  const most = Math.max(1, Math.min(Math.floor(state.rows / 2), room - space.length - 2));
  const frame = { columns: state.columns, most, top: 0, how: "Ctrl+O shows all" };
  return [
    ...space,
    `${paint.warn(glyphs.asking)} ${paint.strong(title)}`,
    ...drawWhole(wholeLines(question, state.columns, style), frame, style).slice(0, most),
    `  ${paint.dim(cut(`${left} left${then}${others}${how}`))}`,
  ];
}
