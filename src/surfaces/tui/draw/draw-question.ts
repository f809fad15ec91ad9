import { formatSpan } from "../../cli/amounts.ts";
import { shorten } from "../../cli/display-width.ts";
import { printableLine } from "../../cli/printable.ts";
import type { Style } from "../../cli/style.ts";
import { type ChatState, openQuestions } from "../chat-state.ts";
import { drawWhole, wholeLines } from "./draw-whole.ts";

/** The oldest question that waits, above where it can be answered. */
export function drawQuestion(state: ChatState, style: Style, room: number): readonly string[] {
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
