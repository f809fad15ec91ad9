import { padEnd, shorten } from "../../cli/display-width.ts";
import { printableLine } from "../../cli/printable.ts";
import { type Style, styleFor } from "../../cli/style.ts";
import {
  type ChatState,
  type DetailPage,
  inboxOrder,
  type OpenQuestion,
  openQuestions,
} from "../chat-state.ts";
import { keyTable, showChord } from "../keys/keys.ts";
import { drawApart, drawRule, promptOf } from "./draw-entry.ts";
import { wholeLines } from "./draw-whole.ts";
import { wrapText } from "./wrap-text.ts";

interface PanelContent {
  readonly title: string;
  readonly lines: readonly string[];
  /** The keys that the panel takes. */
  readonly foot: string;
}

/** A panel between its title and its keys. */
export function framed(
  { foot, lines, title }: PanelContent,
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

/** The text of an empty panel, as many lines as fit. */
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

/** The mark before a line of a list. */
export function pointerAt(place: number, chosen: number, style: Style): string {
  return place === chosen ? style.paint.accent(promptOf(style)) : " ";
}

/** Lines that a panel's list has when the panel has the screen to itself. */
function panelRoom({ agents, rows }: Pick<ChatState, "agents" | "rows">): number {
  const [frame, status, ledger] = [2, 1, agents.length === 0 ? 0 : 1];
  return Math.max(1, rows - frame - status - ledger);
}

/** Lines for the chosen question in the inbox; its title and two other items stay visible. */
export function questionRoom(room: number): number {
  return Math.max(2, room - 5);
}

/** The chosen inbox item, if it is an open question. */
export function chosenQuestion(state: ChatState, chosen: number | null): OpenQuestion | undefined {
  const item = inboxOrder(state).find(({ id }) => id === chosen);
  return openQuestions(state).find(({ askId }) => askId === item?.ask?.id);
}

/** The index of the chosen row; of the first one, where it is gone. */
export function placeIn(rows: readonly { readonly id: string }[], chosen: string | null): number {
  return Math.max(
    0,
    rows.findIndex(({ id }) => id === chosen),
  );
}

/** The lines of a page about a delegation. Their number does not depend on colours. */
export function detailLines(
  { columns, detail }: Pick<ChatState, "columns" | "detail">,
  page: number,
  style: Style,
): readonly string[] {
  const shown = detail?.pages[page];
  if (shown === undefined) return [` ${style.glyphs.ellipsis}`];
  const known = drawnPages.get(shown);
  if (known?.columns === columns && known.style === style) return known.lines;
  const { entries } = shown;
  const lines = entries.flatMap((entry, place) =>
    drawApart(entry, entries[place - 1], columns, style),
  );
  drawnPages.set(shown, { columns, style, lines });
  return lines;
}

/** A page is drawn once for a width, and not with every key. */
const drawnPages = new WeakMap<
  DetailPage,
  { readonly columns: number; readonly style: Style; readonly lines: readonly string[] }
>();

/** The last scroll position of the open panel; 0: everything is visible. */
export function lastTop(state: ChatState): number {
  const { columns, panel } = state;
  const room = panelRoom(state);
  switch (panel.is) {
    case "help":
      return Math.max(0, helpLines(state).length - room);
    case "detail":
      return Math.max(0, detailLines(state, panel.page, uncoloured).length - room);
    case "inbox": {
      const question = chosenQuestion(state, panel.chosen);
      const lines = question === undefined ? 0 : wholeLines(question, columns, uncoloured).length;
      const most = questionRoom(room);
      return lines <= most ? 0 : lines - most + 1;
    }
    case "none":
    case "tree":
    case "sessions":
    case "interrupt":
    case "leaving":
      return 0;
    default:
      return panel satisfies never;
  }
}

/** Only the number of lines counts. */
const uncoloured = styleFor(
  { isTerminal: false, write: () => undefined, writeExact: () => undefined, columns: 80, rows: 24 },
  { environment: {} },
);

export interface HelpLine {
  /** The padded keys; blank where the line continues the one above. */
  readonly keys: string;
  readonly text: string;
}

/** The keys of the chat, and of profiles. */
export function helpLines({ columns, hotkeys }: ChatState): readonly HelpLine[] {
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
  const width = isNarrow ? 13 : 31;
  return rows.flatMap(({ help, keys }) => {
    const first = padEnd(shorten(isNarrow ? (keys.split(", ")[0] ?? "") : keys, width), width);
    return wrapText(help, columns - width - 4).map((text, index) => {
      return { keys: index === 0 ? first : " ".repeat(width), text };
    });
  });
}
