import { shownName } from "../../../events/delegation.ts";
import { formatAge } from "../../cli/amounts.ts";
import { displayWidth, shorten } from "../../cli/display-width.ts";
import { drawRows } from "../../cli/draw-tree.ts";
import { printableLine } from "../../cli/printable.ts";
import type { Style } from "../../cli/style.ts";
import {
  type AgentLine,
  type ChatState,
  childrenAtWork,
  childrenInBackground,
} from "../chat-state.ts";
import { leaveChoices } from "../keys/leave-choices.ts";
import { helpLines } from "./draw-help.ts";
import { drawInboxPanel } from "./draw-inbox-panel.ts";
import { around, framed, type PanelOf, pointed, scroll, told } from "./panel-frame.ts";
import { beatOf } from "./spinner-beat.ts";

/** The list that lies over the conversation, in at most `most` lines. */
export function drawPanel(state: ChatState, style: Style, most: number): readonly string[] {
  const { panel } = state;
  switch (panel.is) {
    case "none":
      return [];
    case "help":
      return framed(
        "keys",
        scroll(helpLines(state), panel.top, most - 2).map(
          ({ keys, text }) => ` ${style.paint.strong(keys)} ${text}`,
        ),
        helpLines(state).length > most - 2 ? "arrows scroll, Esc closes" : "Esc closes",
        state,
        style,
      );
    case "tree":
      return drawTreePanel(state, panel, style, most);
    case "inbox":
      return drawInboxPanel(state, panel, style, most);
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
  const lines = drawRows(state.tree, style, { columns: state.columns - 1, beat: beatOf(state) });
  const shown =
    lines.length === 0
      ? told("Nobody has worked in this session yet.", state, most - 2)
      : scroll(lines, panel.top, most - 2).map((line) => ` ${line}`);
  const foot =
    lines.length > most - 2 ? `${lines.length} agents, arrows scroll, Esc closes` : "Esc closes";
  return framed("tree", shown, foot, state, style);
}

function drawInterrupt(
  state: ChatState,
  panel: PanelOf<"interrupt">,
  style: Style,
  most: number,
): readonly string[] {
  const question = {
    title: "interrupt: what about those who work for it?",
    foot: "a number or Enter chooses, Esc goes on, Ctrl+C leaves",
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
    title: "leave: what about the sub-agents in the background?",
    foot: "a number or Enter chooses, Esc stays, Ctrl+C leaves it to their contracts",
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
    const head = `${pointed(index === chosen, style)} ${index + 1} ${text}`;
    return displayWidth(`${text}${detail}`) + 5 > room ? head : `${head}  ${paint.dim(detail)}`;
  });
  const shown = [`  ${paint.dim(who)}`, ...lines].slice(0, most - 2);
  return framed(title, shown, foot, state, style);
}

/** Where one can go, the latest first. */
function drawSessionsPanel(
  state: ChatState,
  panel: PanelOf<"sessions">,
  style: Style,
  most: number,
): readonly string[] {
  const { glyphs, paint } = style;
  const rows = state.sessions;
  if (rows === null) return framed("sessions", [" …"], "Esc closes", state, style);
  const room = state.columns - 4;
  const lines = [
    `${pointed(panel.chosen === 0, style)} ${paint.strong("new session")}`,
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
      const head = `${pointed(panel.chosen === index + 1, style)} ${isHere ? paint.accent(who) : who}`;
      return room < 60
        ? `${head} ${paint.dim(shorten(printableLine(row.title), room - displayWidth(who) - 1, glyphs.ellipsis))}`
        : `${head}  ${title}  ${paint.dim(about)}`;
    }),
  ];
  const shown = around(lines, panel.chosen, most - 2);
  return framed(
    "sessions of this folder",
    shown,
    "Enter goes there, n begins a new one, Esc closes",
    state,
    style,
  );
}
