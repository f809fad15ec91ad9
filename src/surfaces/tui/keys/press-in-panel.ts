import { type Stepped, stay } from "../chat-input.ts";
import { type ChatState, inboxOrder, noPanel, openQuestions, type PanelOf } from "../chat-state.ts";
import { lastTop, placeIn } from "../draw/panel-frame.ts";
import { leaveChoices } from "./choices.ts";
import { editorWith } from "./editor.ts";
import { actionOf } from "./keys.ts";
import { answer } from "./press-key.ts";

/** A key while a panel is open. Letters are keys here. */
export function pressInPanel(state: ChatState, chord: string): Stepped {
  const { panel } = state;
  const closed: ChatState = { ...state, panel: noPanel };
  const action = actionOf(chord);
  if (action === "interrupt") {
    // While the panel asks what to do with the children, a second Ctrl-C leaves.
    return panel.is === "interrupt" || panel.is === "leaving"
      ? { state, effects: [{ do: "leave" }] }
      : stay(closed);
  }
  if (action === "leave" && panel.is === "leaving") return { state, effects: [{ do: "leave" }] };
  if (panel.is === "detail" && (chord === "escape" || chord === "backspace" || chord === "left")) {
    return stay({ ...state, panel: panel.back, detail: null });
  }
  if (chord === "escape" || chord === "q" || action === panel.is) return stay(closed);
  if (action === "suspend") return { state: closed, effects: [{ do: "suspend" }] };
  if (action === "redraw") return { state, effects: [{ do: "redraw" }] };
  switch (panel.is) {
    case "none":
      return stay(state);
    case "help":
      return stay({ ...state, panel: { ...panel, top: scrolled(state, panel.top, chord) } });
    case "tree":
      return pressInTree(state, panel, chord);
    case "detail":
      return pressInDetail(state, panel, chord);
    case "inbox":
      return pressInInbox(state, panel, chord);
    case "sessions":
      return pressInSessions(state, panel.chosen, chord);
    case "interrupt":
      return pressInInterrupt(state, panel, chord);
    case "leaving":
      return pressInLeaving(state, panel, chord);
    default:
      return panel satisfies never;
  }
}

function pressInTree(state: ChatState, panel: PanelOf<"tree">, chord: string): Stepped {
  const { tree } = state;
  const place = placeIn(tree, panel.chosen);
  const row = tree[place];
  if (row !== undefined && (chord === "enter" || chord === "right")) {
    return openDetail(state, { id: row.id, label: `${row.who}#${row.id}` }, panel);
  }
  const next = tree[moved(place, chord, tree.length)];
  return stay({ ...state, panel: { ...panel, chosen: next?.id ?? panel.chosen } });
}

/** Opens the page of a delegation. Its content is read, and comes later. */
function openDetail(
  state: ChatState,
  about: { readonly id: string; readonly label: string },
  back: PanelOf<"detail">["back"],
): Stepped {
  const panel = { is: "detail", page: 0, top: 0, back } as const;
  const opened = { ...state, panel, detail: { ...about, pages: [] } };
  return { state: opened, effects: [{ do: "read-detail", id: about.id }] };
}

function pressInDetail(state: ChatState, panel: PanelOf<"detail">, chord: string): Stepped {
  const { detail } = state;
  const pages = detail?.pages ?? [];
  if (detail !== null && (chord === "m" || chord === "d")) {
    // The command is written and not sent: the person reads it first.
    const command = `/${chord === "m" ? "merge" : "discard"} ${detail.id}`;
    return stay({ ...state, panel: noPanel, answering: null, editor: editorWith(command) });
  }
  if (chord === "tab" || chord === "right") {
    const page = (panel.page + 1) % Math.max(1, pages.length);
    return stay({ ...state, panel: { ...panel, page, top: 0 } });
  }
  const place = pages.findIndex(({ title }) => title.startsWith(chord));
  if (place >= 0) return stay({ ...state, panel: { ...panel, page: place, top: 0 } });
  return stay({ ...state, panel: { ...panel, top: scrolled(state, panel.top, chord) } });
}

function stepOf(chord: string): number {
  if (chord === "up" || chord === "k" || chord === "ctrl+p") return -1;
  if (chord === "down" || chord === "j" || chord === "ctrl+n") return 1;
  if (chord === "pageup") return -10;
  if (chord === "pagedown" || chord === " ") return 10;
  return 0;
}

/** The new scroll position, within the panel's lines. */
function scrolled(state: ChatState, top: number, chord: string): number {
  return Math.max(0, Math.min(lastTop(state), top + stepOf(chord)));
}

function moved(chosen: number, chord: string, count: number): number {
  return Math.max(0, Math.min(count - 1, chosen + stepOf(chord)));
}

/** Keys act on the chosen item, even if it has moved in the list. */
function pressInInbox(state: ChatState, panel: PanelOf<"inbox">, chord: string): Stepped {
  const items = inboxOrder(state);
  const place = items.findIndex(({ id }) => id === panel.chosen);
  const question = openQuestions(state).find(({ askId }) => askId === items[place]?.ask?.id);
  if (question !== undefined) {
    if (chord === "enter" || chord === "tab")
      return stay({ ...answer(state, question), panel: noPanel });
    if (question.kind === "approval" && (chord === "y" || chord === "n")) {
      const text = chord === "y" ? "yes" : "no";
      return { state, effects: [{ do: "answer", askId: question.askId, text }] };
    }
    // PgUp and PgDn scroll a long question.
    if (lastTop(state) > 0 && (chord === "pageup" || chord === "pagedown" || chord === " ")) {
      return stay({ ...state, panel: { ...panel, top: scrolled(state, panel.top, chord) } });
    }
  }
  const item = items[place];
  if (item !== undefined && (chord === "enter" || chord === "right")) {
    const { delegationId: id = item.runId } = item;
    return openDetail(state, { id, label: `#${id}` }, panel);
  }
  const next = items[place < 0 ? 0 : moved(place, chord, items.length)]?.id ?? null;
  return stay({
    ...state,
    panel: next === panel.chosen ? panel : { is: "inbox", chosen: next, top: 0 },
  });
}

function pressInSessions(state: ChatState, chosen: number, chord: string): Stepped {
  const rows = state.sessions ?? [];
  if (chord === "n") return { state, effects: [{ do: "open-session", id: null }] };
  if (chord === "enter") {
    // The first line is the new session.
    const id = chosen === 0 ? null : rows[chosen - 1]?.id;
    if (id === undefined) return stay(state);
    return { state: { ...state, panel: noPanel }, effects: [{ do: "open-session", id }] };
  }
  return stay({
    ...state,
    panel: { is: "sessions", chosen: moved(chosen, chord, rows.length + 1) },
  });
}

function pressInInterrupt(state: ChatState, panel: PanelOf<"interrupt">, chord: string): Stepped {
  const { choices, chosen } = panel;
  const byNumber = /^[1-9]$/.test(chord) ? Number(chord) - 1 : undefined;
  if (chord !== "enter" && byNumber === undefined) {
    return stay({ ...state, panel: { ...panel, chosen: moved(chosen, chord, choices.length) } });
  }
  const choice = choices[byNumber ?? chosen];
  if (choice === undefined || state.turn === null) return stay(state);
  const closed: ChatState = { ...state, panel: noPanel };
  if (choice.how === "go-on") return stay(closed);
  const ending = choice.how === "background" ? "no" : choice.how;
  return {
    state: { ...closed, turn: { ...state.turn, ending } },
    effects: [{ do: "interrupt", how: choice.how }],
  };
}

function pressInLeaving(state: ChatState, { chosen }: PanelOf<"leaving">, chord: string): Stepped {
  const byNumber = /^[1-9]$/.test(chord) ? Number(chord) - 1 : undefined;
  if (chord !== "enter" && byNumber === undefined) {
    const next = moved(chosen, chord, leaveChoices.length);
    return stay({ ...state, panel: { is: "leaving", chosen: next } });
  }
  const choice = leaveChoices[byNumber ?? chosen];
  if (choice === undefined) return stay(state);
  const closed: ChatState = { ...state, panel: noPanel };
  if (choice.how === "stay") return stay(closed);
  const effects = [{ do: "leave", how: choice.how }] as const;
  return { state: { ...closed, leavesAfterChildren: choice.how === "wait" }, effects };
}
