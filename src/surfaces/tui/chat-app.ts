import { Box, Static, Text, useCursor, useInput, usePaste } from "ink";
import {
  type ComponentProps,
  createElement as h,
  memo,
  type ReactElement,
  useCallback,
  useSyncExternalStore,
} from "react";
import type { Style } from "../cli/style.ts";
import type { ChatState } from "./chat-state.ts";
import type { ChatStore } from "./chat-store.ts";
import { pressedOf } from "./chord-of.ts";
import { drawEntry, needsSpace } from "./draw-entry.ts";
import { drawScreen } from "./draw-screen.ts";
import type { Entry } from "./entry.ts";

export interface ChatAppProps {
  readonly store: ChatStore;
  readonly style: Style;
  /** What is to be shown, where that is not all that there is: something else lies over it. */
  readonly shown?: () => ChatState;
}

/** The whole surface: what was said, once, and below it what moves. All decisions are elsewhere. */
export function ChatApp({ shown, store, style }: ChatAppProps): ReactElement {
  const subscribe = useCallback((listener: () => void) => store.subscribe(listener), [store]);
  const state = useSyncExternalStore(subscribe, shown ?? (() => store.state));
  useInput((input, key) => store.dispatch(...pressedOf(input, key)));
  usePaste((text) => store.dispatch({ type: "paste", text }));
  const { cursor, lines } = drawScreen(state, style);
  const { setCursorPosition } = useCursor();
  setCursorPosition(cursor ?? undefined);
  return h(
    Box,
    { flexDirection: "column" },
    h(Said, { entries: state.entries, columns: state.columns, style }),
    // Lines have no other names than their places, and are repainted as a whole.
    ...lines.map((line, place) =>
      h(Text, { key: `line-${place}`, wrap: "truncate-end" }, line || " "),
    ),
  );
}

interface SaidProps {
  readonly entries: readonly Entry[];
  readonly columns: number;
  readonly style: Style;
}

/** Drawn when it is new, and left to the terminal from then on: it may be long. */
const Said = memo(function Said({ columns, entries, style }: SaidProps): ReactElement {
  const draw = (entry: Entry, place: number): ReactElement => {
    const space = needsSpace(entry, entries[place - 1]) ? [""] : [];
    const lines = [...space, ...drawEntry(entry, columns, style)];
    return h(Text, { key: `entry-${place}` }, lines.join("\n") || " ");
  };
  const props: ComponentProps<typeof Static<Entry>> = { items: [...entries], children: draw };
  return h(Static<Entry>, props);
});
