import type { Stepped } from "../chat-input.ts";
import type { ChatState } from "../chat-state.ts";
import { editorWith, moveLine } from "./editor.ts";

/** The line above; before the first, what waits to be said, and what was said. */
export function moveUp(state: ChatState): Stepped {
  const { completion, editor, history, queued } = state;
  if (completion !== null) return choose(state, -1);
  const moved = moveLine(editor, -1);
  if (moved !== null) return stay({ ...state, editor: moved });
  // What waits has not been said yet: it can be taken back.
  const last = queued.at(-1);
  if (last !== undefined && editor.text === "") {
    return stay({ ...state, queued: queued.slice(0, -1), editor: editorWith(last) });
  }
  const place = (history.place ?? history.said.length) - 1;
  const said = history.said[place];
  if (said === undefined || state.answering !== null) return stay(state);
  const draft = history.place === null ? editor.text : history.draft;
  return stay({ ...state, editor: editorWith(said), history: { ...history, place, draft } });
}

export function moveDown(state: ChatState): Stepped {
  const { completion, editor, history } = state;
  if (completion !== null) return choose(state, 1);
  const moved = moveLine(editor, 1);
  if (moved !== null) return stay({ ...state, editor: moved });
  if (history.place === null) return stay(state);
  const place = history.place + 1;
  const said = history.said[place];
  return stay({
    ...state,
    editor: editorWith(said ?? history.draft),
    history: { ...history, place: said === undefined ? null : place },
  });
}

function choose(state: ChatState, by: number): Stepped {
  const { completion } = state;
  if (completion === null) return stay(state);
  const count = completion.candidates.length;
  const chosen = (completion.chosen + by + count) % count;
  return stay({ ...state, completion: { ...completion, chosen } });
}

function stay(state: ChatState): Stepped {
  return { state, effects: [] };
}
