import { displayWidth, padEnd, shorten } from "../cli/display-width.ts";
import { drawRows } from "../cli/draw-rows.ts";
import { printableLine } from "../cli/printable.ts";
import type { Style } from "../cli/style.ts";
import { type ChatState, childrenAtWork } from "./chat-state.ts";
import { drawInboxPanel } from "./draw-inbox-panel.ts";
import { drawSessionsPanel } from "./draw-sessions-panel.ts";
import { interruptChoices } from "./interrupt-choices.ts";
import { keyTable, showChord } from "./keys.ts";
import { framed, type PanelOf, pointed, scroll, told } from "./panel-frame.ts";
import { beatOf } from "./spinner-beat.ts";
import { wrapText } from "./wrap-text.ts";

/** The list that lies over the conversation, in at most `most` lines. */
export function drawPanel(state: ChatState, style: Style, most: number): readonly string[] {
  const { panel } = state;
  switch (panel.is) {
    case "none":
      return [];
    case "help":
      return framed(
        "keys",
        scroll(helpLines(state, style), panel.top, most - 2),
        "Esc closes",
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
    default:
      return panel satisfies never;
  }
}

function helpLines({ columns, hotkeys }: ChatState, { paint }: Style): readonly string[] {
  const rows = [
    ...keyTable.flatMap(({ help, keys }) =>
      help === undefined ? [] : [{ keys: keys.map(showChord).join(", "), help }],
    ),
    ...hotkeys.map(({ chords, command, profile }) => ({
      keys: chords.map(showChord).join(", "),
      help: `${command.trim()} (${printableLine(profile)})`,
    })),
  ];
  const isNarrow = columns < 60;
  const width = isNarrow ? 13 : 28;
  return rows.flatMap(({ help, keys }) => {
    const key = padEnd(shorten(isNarrow ? (keys.split(", ")[0] ?? "") : keys, width), width);
    return wrapText(help, columns - width - 4).map((line, index) => {
      return ` ${index === 0 ? paint.strong(key) : " ".repeat(width)} ${line}`;
    });
  });
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
      ? told("Nobody has worked in this session yet.", state)
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
  const { glyphs, paint } = style;
  const room = state.columns - 4;
  const children = childrenAtWork(state).map(
    ({ label, onInterrupt = "cancel" }) => `${printableLine(label)} (${onInterrupt})`,
  );
  const who = shorten(`Open: ${children.join(", ")}`, room, glyphs.ellipsis);
  const lines = interruptChoices(state).map(({ detail, text }, index) => {
    const head = `${pointed(index === panel.chosen, style)} ${index + 1} ${text}`;
    return displayWidth(`${text}${detail}`) + 5 > room ? head : `${head}  ${paint.dim(detail)}`;
  });
  return framed(
    "interrupt: what about those who work for it?",
    [`  ${paint.dim(who)}`, ...lines].slice(0, most - 2),
    "a number or Enter chooses, Esc goes on, Ctrl+C leaves",
    state,
    style,
  );
}
