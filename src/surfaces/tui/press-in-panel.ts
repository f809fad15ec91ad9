import type { Stepped } from "./chat-input.ts";
import { type ChatState, inboxOrder, noPanel, openQuestions } from "./chat-state.ts";
import { interruptChoices } from "./interrupt-choices.ts";
import { actionOf } from "./keys.ts";
import { answer } from "./press-key.ts";

/** A key while a list lies over the conversation. Letters are keys here. */
export function pressInPanel(state: ChatState, chord: string): Stepped {
  const { panel } = state;
  const closed: ChatState = { ...state, panel: noPanel };
  const action = actionOf(chord);
  if (action === "interrupt") {
    // At the question what becomes of the children, a second Ctrl-C is somebody who wants out.
    return panel.is === "interrupt" ? { state, effects: [{ do: "leave" }] } : stay(closed);
  }
  if (chord === "escape" || chord === "q" || action === panel.is) return stay(closed);
  if (action === "redraw") return { state, effects: [{ do: "redraw" }] };
  switch (panel.is) {
    case "none":
      return stay(state);
    case "help":
    case "tree":
      return stay({ ...state, panel: { ...panel, top: Math.max(0, panel.top + stepOf(chord)) } });
    case "inbox":
      return pressInInbox(state, panel.chosen, chord);
    case "sessions":
      return pressInSessions(state, panel.chosen, chord);
    case "interrupt":
      return pressInInterrupt(state, panel.chosen, chord);
    default:
      return panel satisfies never;
  }
}

function stay(state: ChatState): Stepped {
  return { state, effects: [] };
}

function stepOf(chord: string): number {
  if (chord === "up" || chord === "k" || chord === "ctrl+p") return -1;
  if (chord === "down" || chord === "j" || chord === "ctrl+n") return 1;
  if (chord === "pageup") return -10;
  if (chord === "pagedown" || chord === " ") return 10;
  return 0;
}

function moved(chosen: number, chord: string, count: number): number {
  return Math.max(0, Math.min(count - 1, chosen + stepOf(chord)));
}

function pressInInbox(state: ChatState, chosen: number, chord: string): Stepped {
  const items = inboxOrder(state);
  const item = items[chosen];
  const question = openQuestions(state).find(({ askId }) => askId === item?.ask?.id);
  if (question !== undefined) {
    if (chord === "enter" || chord === "tab")
      return stay({ ...answer(state, question), panel: noPanel });
    if (question.kind === "approval" && (chord === "y" || chord === "n")) {
      const text = chord === "y" ? "yes" : "no";
      return { state, effects: [{ do: "answer", askId: question.askId, text }] };
    }
  }
  return stay({ ...state, panel: { is: "inbox", chosen: moved(chosen, chord, items.length) } });
}

function pressInSessions(state: ChatState, chosen: number, chord: string): Stepped {
  const rows = state.sessions ?? [];
  if (chord === "n") return { state, effects: [{ do: "open-session", id: null }] };
  if (chord === "enter") {
    // The first line stands for a new one.
    const id = chosen === 0 ? null : rows[chosen - 1]?.id;
    if (id === undefined) return stay(state);
    return { state: { ...state, panel: noPanel }, effects: [{ do: "open-session", id }] };
  }
  return stay({
    ...state,
    panel: { is: "sessions", chosen: moved(chosen, chord, rows.length + 1) },
  });
}

function pressInInterrupt(state: ChatState, chosen: number, chord: string): Stepped {
  const byNumber = /^[1-9]$/.test(chord) ? Number(chord) - 1 : undefined;
  const place = byNumber ?? chosen;
  const choice = interruptChoices(state)[place];
  if (chord !== "enter" && byNumber === undefined) {
    const count = interruptChoices(state).length;
    return stay({ ...state, panel: { is: "interrupt", chosen: moved(chosen, chord, count) } });
  }
  if (choice === undefined || state.turn === null) return stay(state);
  const closed: ChatState = { ...state, panel: noPanel };
  if (choice.how === "go-on") return stay(closed);
  const ending = choice.how === "background" ? "no" : choice.how;
  return {
    state: { ...closed, turn: { ...state.turn, ending } },
    effects: [{ do: "interrupt", how: choice.how }],
  };
}
