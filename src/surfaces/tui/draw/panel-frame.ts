import { shorten } from "../../cli/display-width.ts";
import type { Style } from "../../cli/style.ts";
import type { ChatState, Panel } from "../chat-state.ts";
import { drawRule, promptOf } from "./draw-entry.ts";
import { wrapText } from "./wrap-text.ts";

export type PanelOf<Kind extends Panel["is"]> = Extract<Panel, { is: Kind }>;

/** A panel: its name above, and below it the keys that it takes. */
export function framed(
  title: string,
  lines: readonly string[],
  foot: string,
  { columns }: ChatState,
  style: Style,
): readonly string[] {
  const { glyphs, paint } = style;
  return [
    paint.accent(drawRule(title, columns, style)),
    ...lines,
    paint.dim(` ${shorten(foot, columns - 2, glyphs.ellipsis)}`),
  ];
}

/** Where there is nothing to list; as much of it as there is room for. */
export function told(text: string, { columns }: ChatState, room: number): readonly string[] {
  const lines = wrapText(text, columns - 3).map((line) => ` ${line}`);
  return lines.slice(0, Math.max(1, room));
}

export function scroll<Line>(lines: readonly Line[], top: number, room: number): readonly Line[] {
  const first = Math.max(0, Math.min(top, lines.length - room));
  return lines.slice(first, first + Math.max(1, room));
}

/** The lines around the chosen one. */
export function around<Line>(
  lines: readonly Line[],
  chosen: number,
  room: number,
): readonly Line[] {
  const first = Math.max(0, Math.min(chosen - Math.floor(room / 2), lines.length - room));
  return lines.slice(first, first + Math.max(1, room));
}

export function pointed(isChosen: boolean, style: Style): string {
  return isChosen ? style.paint.accent(promptOf(style)) : " ";
}
