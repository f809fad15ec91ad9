import { formatAge, formatSpan } from "../../cli/amounts.ts";
import { shorten } from "../../cli/display-width.ts";
import { printableLine } from "../../cli/printable.ts";
import type { Style } from "../../cli/style.ts";
import { type ChatState, inboxOrder, titleOf } from "../chat-state.ts";
import { chosenQuestion, questionRoom } from "../panel-scroll.ts";
import { drawWhole, wholeLines } from "./draw-whole.ts";
import { framed, type PanelOf, pointed, told } from "./panel-frame.ts";

/** What waits for an answer, then what is new. Of the chosen question all is shown. */
export function drawInboxPanel(
  state: ChatState,
  panel: PanelOf<"inbox">,
  style: Style,
  most: number,
): readonly string[] {
  const { glyphs, paint } = style;
  const items = inboxOrder(state);
  if (items.length === 0) {
    const about = "Nothing yet. What agents ask, finish or fail at comes here.";
    const empty = told(about, state, most - 2);
    return framed("inbox", empty, "Esc closes", state, style);
  }
  const room = state.columns - 4;
  const place = items.findIndex(({ id }) => id === panel.chosen);
  const lines = items.map((item, index) => {
    const isChosen = index === place;
    const left =
      item.ask && item.isOpen
        ? `${formatSpan(Math.max(0, item.ask.deadlineAt - state.now))} left`
        : "";
    const when = left || formatAge(state.now - item.at);
    const title = shorten(printableLine(titleOf(item)), room - when.length - 3, glyphs.ellipsis);
    const mark = item.isOpen ? paint.warn(glyphs.asking) : paint.dim(glyphs.dot);
    const head = `${pointed(isChosen, style)} ${mark} ${item.isOpen ? paint.strong(title) : title}  ${paint.dim(when)}`;
    const question = isChosen ? chosenQuestion(state, item.id) : undefined;
    if (question !== undefined) {
      const frame = {
        columns: state.columns,
        most: questionRoom(most - 2),
        top: panel.top,
        how: "PgDn and PgUp read on",
      };
      return [head, ...drawWhole(wholeLines(question, state.columns), frame, style)];
    }
    const text = shorten(printableLine(item.text), room - 1, glyphs.ellipsis);
    return text === "" ? [head] : [head, `    ${paint.dim(text)}`];
  });
  const shown = aroundPlace(lines, Math.max(0, place), most - 2);
  const chosen = items[place];
  const how = !chosen?.isOpen
    ? "arrows choose, Esc closes"
    : chosen.kind === "approval"
      ? "y allows, n refuses, Enter types an answer, Esc closes"
      : "Enter answers, Esc closes";
  return framed(`inbox, ${items.length}`, shown, how, state, style);
}

/** The chosen item with all its lines, and as many of its neighbours as there is room for. */
function aroundPlace(
  items: readonly (readonly string[])[],
  place: number,
  room: number,
): readonly string[] {
  let [from, to] = [place, place + 1];
  let used = items[place]?.length ?? 0;
  for (;;) {
    const [above, below] = [items[from - 1], items[to]];
    if (above && used + above.length <= room) {
      from -= 1;
      used += above.length;
    }
    if (below && used + below.length <= room) {
      to += 1;
      used += below.length;
    }
    if (above === items[from - 1] && below === items[to]) break;
  }
  return items.slice(from, to).flat().slice(0, room);
}
