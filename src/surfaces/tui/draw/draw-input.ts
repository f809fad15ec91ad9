import { displayWidth, graphemesOf, shorten } from "../../cli/display-width.ts";
import { printableLine } from "../../cli/printable.ts";
import type { Style } from "../../cli/style.ts";
import type { ChatState } from "../chat-state.ts";
import { drawRule, promptOf } from "./draw-entry.ts";
import { expandTabs } from "./wrap-text.ts";

export interface DrawnInput {
  readonly lines: readonly string[];
  /** Where the cursor is, counted from the first of the lines. */
  readonly cursor: { readonly x: number; readonly y: number };
}

/** The line that names the agent, and the text being typed, around its cursor. */
export function drawInput(state: ChatState, style: Style, most: number): DrawnInput {
  const { paint } = style;
  const { columns } = state;
  const { at, rows } = layOut(state, columns - 3);
  const room = Math.max(1, most - 1);
  const top = Math.max(0, Math.min(at.row - Math.floor(room / 2), rows.length - room));
  const shown = rows.slice(top, top + room);
  const isAnswer = state.answering !== null && state.search === null;
  const rule = drawRule(headOf(state, rows.length > room ? rows.length : 0), columns, style);
  const hint = state.editor.text === "" ? paint.dim(shorten(hintOf(state), columns - 3)) : "";
  return {
    lines: [
      isAnswer ? paint.warn(rule) : paint.dim(rule),
      ...shown.map((line, index) => {
        const mark =
          top + index === 0 ? (isAnswer ? paint.warn("?") : paint.accent(promptOf(style))) : " ";
        return `${mark} ${line}${index === 0 ? hint : ""}`;
      }),
    ],
    cursor: { x: at.column + 2, y: at.row - top + 1 },
  };
}

function headOf({ answering, search, session, turn }: ChatState, lines: number): string {
  const many = lines === 0 ? "" : ` (${lines} lines)`;
  if (search !== null) return "search what you said before";
  if (answering !== null) return `your answer to ${printableLine(answering.question.who)}${many}`;
  const id = session.id === null ? "new session" : `#${session.id}`;
  const name = session.id === null ? `${session.profile}, ${id}` : `${session.profile}${id}`;
  const state = turn === null ? "" : turn.ending === "no" ? " works" : " is stopping";
  return `${name}${state}${many}`;
}

function hintOf({ answering, isLeaving, leavesAfterChildren, search, turn }: ChatState): string {
  if (search !== null) return "type to search, Ctrl+R for earlier, Enter takes it, Esc closes";
  if (answering !== null) {
    const isApproval = answering.question.kind === "approval";
    return `${isApproval ? "yes or no, then Enter" : "type the answer, then Enter"}; Esc for a message`;
  }
  if (isLeaving) return "Ctrl+C again leaves";
  if (leavesAfterChildren) return "Leaving when the sub-agents have ended; Esc stays";
  if (turn !== null) return "Esc interrupts; what you type now is said next";
  return "say something, / for commands, @ for files, ? for keys";
}

interface Place {
  readonly row: number;
  readonly column: number;
}

/** The text on lines of the screen, and where in them the cursor is. */
function layOut(
  { editor }: ChatState,
  width: number,
): { readonly rows: readonly string[]; readonly at: Place } {
  const rows: string[] = [];
  let at: Place = { row: 0, column: 0 };
  let offset = 0;
  for (const line of editor.text.split("\n")) {
    const cursor = editor.cursor - offset;
    const laid = plainLine.test(line) ? cutPlain(line, width) : cutCells(line, width, cursor);
    if (cursor >= 0 && cursor <= line.length) {
      const { column, row } = laid.at ?? {
        row: Math.floor(cursor / width),
        column: cursor % width,
      };
      at = { row: rows.length + row, column };
    }
    rows.push(...laid.rows);
    // The cursor is behind a full line.
    if (at.row === rows.length) rows.push("");
    offset += line.length + 1;
  }
  return { rows, at };
}

/** ASCII text: each letter is one cell. */
const plainLine = /^[\u0020-\u007e]*$/;

interface LaidOut {
  readonly rows: readonly string[];
  /** Absent for plain ASCII: every letter is one cell, and a position follows by division. */
  readonly at?: Place;
}

function cutPlain(line: string, width: number): LaidOut {
  const count = Math.max(1, Math.ceil(line.length / width));
  return {
    rows: Array.from({ length: count }, (_each, row) => line.slice(row * width, (row + 1) * width)),
  };
}

function cutCells(line: string, width: number, cursor: number): LaidOut {
  const rows: string[] = [];
  let at: Place = { row: 0, column: 0 };
  let row = "";
  let used = 0;
  let place = 0;
  for (const grapheme of graphemesOf(line)) {
    const drawn = expandTabs(grapheme);
    const size = displayWidth(drawn);
    if (used + size > width) {
      rows.push(row);
      row = "";
      used = 0;
    }
    if (place === cursor) at = { row: rows.length, column: used };
    row += drawn;
    used += size;
    place += grapheme.length;
  }
  if (place === cursor) {
    at = used >= width ? { row: rows.length + 1, column: 0 } : { row: rows.length, column: used };
  }
  return { rows: [...rows, row], at };
}
