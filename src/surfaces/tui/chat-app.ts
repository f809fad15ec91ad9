import { Box, Static, Text, useApp, useCursor, useInput, usePaste } from "ink";
import {
  type ComponentProps,
  createElement as h,
  memo,
  type ReactElement,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useSyncExternalStore,
} from "react";
import type { Style } from "../cli/style.ts";
import type { ChatState } from "./chat-state.ts";
import type { ChatStore } from "./chat-store.ts";
import { drawApart } from "./draw/draw-entry.ts";
import { drawScreen } from "./draw/draw-screen.ts";
import type { Entry } from "./entry.ts";
import { pressedOf } from "./keys/keys.ts";

export interface ChatAppProps {
  readonly store: ChatStore;
  readonly style: Style;
  /** The state to draw, when a panel on the alternate screen covers the current one. */
  readonly shown?: () => ChatState;
  /** Receives the function that lends the terminal to another program. */
  readonly offerSuspension?: (suspend: ReturnType<typeof useApp>["suspendTerminal"]) => void;
}

/** The whole surface: the conversation, drawn once, and the live part below. It decides nothing. */
export function ChatApp({ offerSuspension, shown, store, style }: ChatAppProps): ReactElement {
  const subscribe = useCallback((listener: () => void) => store.subscribe(listener), [store]);
  const state = useSyncExternalStore(subscribe, shown ?? (() => store.state));
  useInput((input, key) => store.dispatch(...pressedOf(input, key)));
  usePaste((text) => store.dispatch({ type: "paste", text }));
  const { suspendTerminal } = useApp();
  useEffect(() => offerSuspension?.(suspendTerminal), [offerSuspension, suspendTerminal]);
  const height = useRef(0);
  const from = useFirstDrawn(state, style, height.current);
  const { cursor, lines } = drawScreen(state, style);
  height.current = lines.length;
  const { setCursorPosition } = useCursor();
  setCursorPosition(cursor ?? undefined);
  return h(
    Box,
    { flexDirection: "column" },
    h(Said, {
      key: `drawn-${state.drawings}`,
      entries: state.entries,
      from,
      columns: state.columns,
      style,
    }),
    // A line has no key but its index; all lines are repainted together.
    ...lines.map((line, place) =>
      h(Text, { key: `line-${place}`, wrap: "truncate-end" }, line || " "),
    ),
  );
}

interface SaidProps {
  readonly entries: readonly Entry[];
  readonly from: number;
  readonly columns: number;
  readonly style: Style;
}

/** The conversation. Each entry is drawn once and then left to the terminal's scrollback. */
const Said = memo(function Said({ columns, entries, from, style }: SaidProps): ReactElement {
  const draw = (entry: Entry, place: number): ReactElement => {
    const lines = drawApart(entry, entries[from + place - 1], columns, style);
    // Each line is a Text of its own and is truncated. A wrapped line would begin without a mark, and
    // model output could imitate a line of the chat.
    const texts = lines.map((line, row) =>
      h(Text, { key: `row-${row}`, wrap: "truncate-end" }, line || " "),
    );
    return h(Box, { key: `entry-${from + place}`, flexDirection: "column" }, ...texts);
  };
  const items = entries.slice(from);
  const props: ComponentProps<typeof Static<Entry>> = { items, children: draw };
  return h(Static<Entry>, props);
});

/** After a wipe, the entries that were on the screen are drawn again; the others are in the scrollback. */
function useFirstDrawn(state: ChatState, style: Style, height: number): number {
  const { drawings } = state;
  // biome-ignore lint/correctness/useExhaustiveDependencies: decided once for each drawing.
  return useMemo(() => (drawings === 0 ? 0 : firstOnScreen(state, style, height)), [drawings]);
}

type Shown = Pick<ChatState, "clearedAt" | "columns" | "columnsBefore" | "entries" | "rows">;

/**
 * The index of the first entry that was on the screen before it was wiped, above a live part of this
 * height. With one line too many, the scrollback has it twice; with one too few, the line is lost.
 */
function firstOnScreen(
  { clearedAt, columns, columnsBefore, entries, rows }: Shown,
  style: Style,
  height: number,
): number {
  const widest = Math.max(columns, columnsBefore);
  let lines = 0;
  let first = entries.length;
  while (first > clearedAt && lines < rows - height) {
    first -= 1;
    const entry = entries[first];
    if (entry) lines += drawApart(entry, entries[first - 1], widest, style).length;
  }
  return first;
}
