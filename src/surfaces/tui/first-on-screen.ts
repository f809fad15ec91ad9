import type { Style } from "../cli/style.ts";
import type { ChatState } from "./chat-state.ts";
import { drawApart } from "./draw/draw-entry.ts";

type Shown = Pick<ChatState, "columns" | "columnsBefore" | "entries" | "rows">;

/**
 * The first entry of those that filled the screen before it was wiped, or all if they did not: a
 * line too many stands twice in the scrollback, and one too few would be nowhere.
 */
export function firstOnScreen(
  { columns, columnsBefore, entries, rows }: Shown,
  style: Style,
): number {
  const widest = Math.max(columns, columnsBefore);
  let lines = 0;
  let first = entries.length;
  while (first > 0 && lines < rows) {
    first -= 1;
    const entry = entries[first];
    if (entry) lines += drawApart(entry, entries[first - 1], widest, style).length;
  }
  return first;
}
