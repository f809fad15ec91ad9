import { padEnd, shorten } from "../../cli/display-width.ts";
import { printableLine } from "../../cli/printable.ts";
import type { Style } from "../../cli/style.ts";
import type { ChatState } from "../chat-state.ts";

const mostCandidates = 6;

/** What the command that is being typed could become. */
export function drawCompletion(state: ChatState, style: Style): readonly string[] {
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
