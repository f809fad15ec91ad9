import { shownName } from "../../../events/delegation.ts";
import { formatAge, formatSpan } from "../../cli/amounts.ts";
import { displayWidth, shorten } from "../../cli/display-width.ts";
import { drawRows } from "../../cli/draw-tree.ts";
import { printableLine } from "../../cli/printable.ts";
import type { Style } from "../../cli/style.ts";
import {
  type AgentLine,
  beatOf,
  type ChatState,
  childrenAtWork,
  childrenInBackground,
  inboxOrder,
  type PanelOf,
  titleOf,
} from "../chat-state.ts";
import { leaveChoices } from "../keys/choices.ts";
import { drawLedger, drawStatus } from "./draw-ledger.ts";
import { drawWhole, wholeLines } from "./draw-whole.ts";
import {
  around,
  chosenQuestion,
  detailLines,
  framed,
  helpLines,
  placeIn,
  pointerAt,
  questionRoom,
  scroll,
  told,
} from "./panel-frame.ts";

/** The open panel, in at most `most` lines. */
export function drawPanel(state: ChatState, style: Style, most: number): readonly string[] {
  const { panel } = state;
  switch (panel.is) {
    case "none":
      return [];
    case "help":
      return framed(
        {
          title: "keys",
          lines: scroll(helpLines(state), panel.top, most - 2).map(
            ({ keys, text }) => ` ${style.paint.strong(keys)} ${text}`,
          ),
          foot: helpLines(state).length > most - 2 ? "arrows scroll, Esc closes" : "Esc closes",
        },
        state,
        style,
      );
    case "tree":
      return drawTreePanel(state, panel, style, most);
    case "inbox":
      return drawInboxPanel(state, panel, style, most);
    case "detail":
      return drawDetailPanel(state, panel, style, most);
    case "sessions":
      return drawSessionsPanel(state, panel, style, most);
    case "interrupt":
      return drawInterrupt(state, panel, style, most);
    case "leaving":
      return drawLeaving(state, panel, style, most);
    default:
      return panel satisfies never;
  }
}

function drawTreePanel(
  state: ChatState,
  panel: PanelOf<"tree">,
  style: Style,
  most: number,
): readonly string[] {
  const { tree } = state;
  if (tree.length === 0) {
    const empty = told("No agent has worked in this session yet.", state, most - 2);
    return framed({ title: "tree", lines: empty, foot: "Esc closes" }, state, style);
  }
  const place = placeIn(tree, panel.chosen);
  const lines = drawRows(tree, style, { columns: state.columns - 2, beat: beatOf(state) }).map(
    (line, index) => `${pointerAt(index, place, style)} ${line}`,
  );
  const title = tree.length > most - 2 ? `tree, ${tree.length} agents` : "tree";
  const foot = "arrows choose, Enter opens, Esc closes";
  return framed({ title, lines: around(lines, place, most - 2), foot }, state, style);
}

/** A delegation: what it is and how it ended, what was said, what it changed. */
function drawDetailPanel(
  state: ChatState,
  { page, top }: PanelOf<"detail">,
  style: Style,
  most: number,
): readonly string[] {
  const { detail } = state;
  const pages = (detail?.pages ?? []).map(({ title }, index) =>
    index === page ? title.toUpperCase() : title,
  );
  const title = [printableLine(detail?.label ?? ""), ...pages].join("  ");
  const lines = scroll(detailLines(state, page, style), top, most - 2);
  const isChanged = detail?.pages.some((each) => each.title === "changes") ?? false;
  const foot = `${isChanged ? "m merges, d discards, " : ""}Tab turns the page, arrows scroll, Esc goes back`;
  return framed({ title, lines, foot }, state, style);
}

function drawInterrupt(
  state: ChatState,
  panel: PanelOf<"interrupt">,
  style: Style,
  most: number,
): readonly string[] {
  const question = {
    title: "Interrupt: what should happen to its sub-agents?",
    foot: "a number or Enter chooses, Esc continues, Ctrl+C leaves",
    agents: childrenAtWork(state),
  };
  return drawChoices(state, { ...panel, ...question }, style, most);
}

function drawLeaving(
  state: ChatState,
  { chosen }: PanelOf<"leaving">,
  style: Style,
  most: number,
): readonly string[] {
  const question = {
    title: "Leave: what should happen to the sub-agents in the background?",
    foot: "a number or Enter chooses, Esc stays, Ctrl+C does what their contracts say",
    agents: childrenInBackground(state),
  };
  return drawChoices(state, { chosen, choices: leaveChoices, ...question }, style, most);
}

interface Choices {
  readonly title: string;
  readonly foot: string;
  readonly agents: readonly AgentLine[];
  readonly chosen: number;
  readonly choices: readonly { readonly text: string; readonly detail: string }[];
}

function drawChoices(
  state: ChatState,
  { agents, choices, chosen, foot, title }: Choices,
  style: Style,
  most: number,
): readonly string[] {
  const { glyphs, paint } = style;
  const room = state.columns - 4;
  const names = agents.map(
    ({ label, onInterrupt = "cancel" }) => `${printableLine(label)} (${onInterrupt})`,
  );
  const who = shorten(`Open: ${names.join(", ")}`, room, glyphs.ellipsis);
  const lines = choices.map(({ detail, text }, index) => {
    const head = `${pointerAt(index, chosen, style)} ${index + 1} ${text}`;
    return displayWidth(`${text}${detail}`) + 5 > room ? head : `${head}  ${paint.dim(detail)}`;
  });
  const shown = [`  ${paint.dim(who)}`, ...lines].slice(0, most - 2);
  return framed({ title, lines: shown, foot }, state, style);
}

/** The sessions of the folder, the latest first. */
function drawSessionsPanel(
  state: ChatState,
  panel: PanelOf<"sessions">,
  style: Style,
  most: number,
): readonly string[] {
  const { glyphs, paint } = style;
  const rows = state.sessions;
  if (rows === null)
    return framed({ title: "sessions", lines: [" …"], foot: "Esc closes" }, state, style);
  const room = state.columns - 4;
  const lines = [
    `${pointerAt(0, panel.chosen, style)} ${paint.strong("new session")}`,
    ...rows.map((row, index) => {
      const isHere = row.id === state.session.id;
      const about = `${row.status}, ${formatAge(state.now - row.updatedAt)}`;
      const name = shorten(printableLine(shownName(row)), Math.floor(room / 3), glyphs.ellipsis);
      const who = `${name}#${row.id}`;
      const title = shorten(
        printableLine(row.title),
        room - displayWidth(who) - about.length - 5,
        glyphs.ellipsis,
      );
      const head = `${pointerAt(index + 1, panel.chosen, style)} ${isHere ? paint.accent(who) : who}`;
      return room < 60
        ? `${head} ${paint.dim(shorten(printableLine(row.title), room - displayWidth(who) - 1, glyphs.ellipsis))}`
        : `${head}  ${title}  ${paint.dim(about)}`;
    }),
  ];
  const shown = around(lines, panel.chosen, most - 2);
  return framed(
    {
      title: "sessions of this folder",
      lines: shown,
      foot: "Enter goes there, n begins a new one, Esc closes",
    },
    state,
    style,
  );
}

/** Open questions, then new items. The chosen question is shown in full. */
function drawInboxPanel(
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
    return framed({ title: "inbox", lines: empty, foot: "Esc closes" }, state, style);
  }
  const room = state.columns - 4;
  const place = items.findIndex(({ id }) => id === panel.chosen);
  const runOf = (task: string) =>
    `    ${paint.dim(shorten(`run: ${printableLine(task)}`, room - 1, glyphs.ellipsis))}`;
  const lines = items.map((item, index) => {
    const left =
      item.ask && item.isOpen
        ? `${formatSpan(Math.max(0, item.ask.deadlineAt - state.now))} left`
        : "";
    const when = left || formatAge(state.now - item.at);
    const title = shorten(printableLine(titleOf(item)), room - when.length - 3, glyphs.ellipsis);
    const mark = item.isOpen ? paint.warn(glyphs.asking) : paint.dim(glyphs.dot);
    const head = `${pointerAt(index, place, style)} ${mark} ${item.isOpen ? paint.strong(title) : title}  ${paint.dim(when)}`;
    const question = index === place ? chosenQuestion(state, item.id) : undefined;
    if (question !== undefined) {
      const frame = {
        columns: state.columns,
        most: questionRoom(most - 2),
        top: panel.top,
        how: "PgDn and PgUp read on",
      };
      const task = question.isHere || question.task === "" ? [] : [runOf(question.task)];
      return [
        head,
        ...task,
        ...drawWhole(wholeLines(question, state.columns, style), frame, style),
      ];
    }
    const text = shorten(printableLine(item.text), room - 1, glyphs.ellipsis);
    return text === "" ? [head] : [head, `    ${paint.dim(text)}`];
  });
  const shown = aroundPlace(lines, Math.max(0, place), most - 2);
  const chosen = items[place];
  const how = !chosen?.isOpen
    ? "arrows choose, Enter opens, Esc closes"
    : chosen.kind === "approval"
      ? "y allows, n refuses, Enter types an answer, Right opens, Esc closes"
      : "Enter answers, Right opens, Esc closes";
  return framed({ title: `inbox, ${items.length}`, lines: shown, foot: how }, state, style);
}

/** The chosen item with all its lines, and as many neighbours as fit. */
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

/** A panel on the alternate screen: exactly as many lines as the terminal has. */
export function drawPanelScreen(state: ChatState, style: Style): readonly string[] {
  const rows = Math.max(4, state.rows);
  const ledger = state.agents.length === 0 ? [] : [drawLedger(state, style)];
  const foot = [...ledger, ...drawStatus(state, style)];
  const panel = drawPanel(state, style, rows - foot.length);
  const hint = panel.at(-1) ?? "";
  const list = panel.slice(0, -1);
  const gap = Math.max(0, rows - foot.length - list.length - 1);
  return [...list, ...Array.from({ length: gap }, () => ""), hint, ...foot].slice(0, rows);
}
