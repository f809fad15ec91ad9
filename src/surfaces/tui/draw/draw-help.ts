import { padEnd, shorten } from "../../cli/display-width.ts";
import { printableLine } from "../../cli/printable.ts";
import type { ChatState } from "../chat-state.ts";
import { keyTable, showChord } from "../keys/keys.ts";
import { wrapText } from "./wrap-text.ts";

export interface HelpLine {
  /** Padded; blank where the line goes on with the one above. */
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
