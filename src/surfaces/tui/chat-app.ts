import { Box, Static, Text, useApp, useCursor, useInput, usePaste } from "ink";
import {
  type ComponentProps,
  createElement as h,
  memo,
  type ReactElement,
  useCallback,
  useEffect,
  useMemo,
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
  /** What is to be shown, where that is not all that there is: something else lies over it. */
  readonly shown?: () => ChatState;
  /** Receives the function that lends the terminal to another program. */
  readonly offerSuspension?: (suspend: ReturnType<typeof useApp>["suspendTerminal"]) => void;
}

/** The whole surface: what was said, once, and below it what moves. All decisions are elsewhere. */
export function ChatApp({ offerSuspension, shown, store, style }: ChatAppProps): ReactElement {
  const subscribe = useCallback((listener: () => void) => store.subscribe(listener), [store]);
  const state = useSyncExternalStore(subscribe, shown ?? (() => store.state));
  useInput((input, key) => store.dispatch(...pressedOf(input, key)));
  usePaste((text) => store.dispatch({ type: "paste", text }));
  const { suspendTerminal } = useApp();
  useEffect(() => offerSuspension?.(suspendTerminal), [offerSuspension, suspendTerminal]);
  const { cursor, lines } = drawScreen(state, style);
  const { setCursorPosition } = useCursor();
  setCursorPosition(cursor ?? undefined);
  return h(
    Box,
    { flexDirection: "column" },
    h(Said, {
      key: `drawn-${state.drawings}`,
      entries: state.entries,
      from: useFirstDrawn(state, style),
      columns: state.columns,
      style,
    }),
    // Lines have no other names than their places, and are repainted as a whole.
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

/** Drawn when it is new, and left to the terminal from then on: it may be long. */
const Said = memo(function Said({ columns, entries, from, style }: SaidProps): ReactElement {
  const draw = (entry: Entry, place: number): ReactElement => {
    const lines = drawApart(entry, entries[from + place - 1], columns, style);
    // Each is a text of its own, cut where it does not fit: a line that was broken anywhere else
    // would begin without a mark, and could pass for one of ours.
    const texts = lines.map((line, row) =>
      h(Text, { key: `row-${row}`, wrap: "truncate-end" }, line || " "),
    );
    return h(Box, { key: `entry-${from + place}`, flexDirection: "column" }, ...texts);
  };
  const items = entries.slice(from);
  const props: ComponentProps<typeof Static<Entry>> = { items, children: draw };
  return h(Static<Entry>, props);
});

/** On a screen that was wiped, what stood there is drawn again; the rest has scrolled away. */
function useFirstDrawn(state: ChatState, style: Style): number {
  const { drawings } = state;
  // biome-ignore lint/correctness/useExhaustiveDependencies: decided once for each drawing.
  return useMemo(() => (drawings === 0 ? 0 : firstOnScreen(state, style)), [drawings]);
}

type Shown = Pick<ChatState, "columns" | "columnsBefore" | "entries" | "rows">;

/**
 * The first entry of those that filled the screen before it was wiped, or all if they did not: a
 * line too many stands twice in the scrollback, and one too few would be nowhere.
 */
function firstOnScreen({ columns, columnsBefore, entries, rows }: Shown, style: Style): number {
  const widest = Math.max(columns, columnsBefore);
  let lines = 0;
  let first = entries.length;
  while (first > 0 && lines < rows) {
    first -= 1;
    const entry = entries[first];
    if (entry) lines += drawApart(entry, entries[first - 1], widest, style).length;
  }
  return first;
}
