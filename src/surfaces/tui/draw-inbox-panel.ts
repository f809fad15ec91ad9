import { formatAge, formatSpan } from "../cli/amounts.ts";
import { shorten } from "../cli/display-width.ts";
import { printableLine } from "../cli/printable.ts";
import type { Style } from "../cli/style.ts";
import { type ChatState, inboxOrder } from "./chat-state.ts";
import { drawWhole } from "./draw-whole.ts";
import { around, framed, type PanelOf, pointed, told } from "./panel-frame.ts";

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
    const empty = told("Nothing yet. What agents ask, finish or fail at comes here.", state);
    return framed("inbox", empty, "Esc closes", state, style);
  }
  const room = state.columns - 4;
  const lines = items.map((item, index) => {
    const isChosen = index === panel.chosen;
    const left =
      item.ask && item.isOpen
        ? `${formatSpan(Math.max(0, item.ask.deadlineAt - state.now))} left`
        : "";
    const when = left || formatAge(state.now - item.at);
    const title = shorten(printableLine(item.title), room - when.length - 3, glyphs.ellipsis);
    const mark = item.isOpen ? paint.warn(glyphs.asking) : paint.dim(glyphs.dot);
    const head = `${pointed(isChosen, style)} ${mark} ${item.isOpen ? paint.strong(title) : title}  ${paint.dim(when)}`;
    const text = shorten(printableLine(item.text), room - 1, glyphs.ellipsis);
    const question = item.ask && isChosen ? state.inbox.questions.get(item.ask.id) : undefined;
    const whole = question && drawWhole(question, room - 2, Math.floor(most / 2), style);
    if (whole) return [head, ...whole.map((line) => `  ${line}`)];
    return text === "" ? [head] : [head, `    ${paint.dim(text)}`];
  });
  const shown = around(lines, panel.chosen, Math.max(1, Math.floor((most - 2) / 2))).flat();
  const chosen = items[panel.chosen];
  const how = !chosen?.isOpen
    ? "arrows choose, Esc closes"
    : chosen.kind === "approval"
      ? "y allows, n refuses, Enter types an answer, Esc closes"
      : "Enter answers, Esc closes";
  return framed(`inbox, ${items.length}`, shown.slice(0, most - 2), how, state, style);
}
