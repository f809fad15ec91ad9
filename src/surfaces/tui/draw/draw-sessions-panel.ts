import { shownName } from "../../../events/delegation.ts";
import { formatAge } from "../../cli/amounts.ts";
import { displayWidth, shorten } from "../../cli/display-width.ts";
import { printableLine } from "../../cli/printable.ts";
import type { Style } from "../../cli/style.ts";
import type { ChatState } from "../chat-state.ts";
import { around, framed, type PanelOf, pointed } from "./panel-frame.ts";

/** Where one can go, the latest first. */
export function drawSessionsPanel(
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
