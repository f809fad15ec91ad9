import { type ChatEffect, type Stepped, stay } from "../chat-input.ts";
import {
  type ChatState,
  childrenAtWork,
  childrenInBackground,
  inboxOrder,
  type OpenQuestion,
  openQuestions,
  type Panel,
} from "../chat-state.ts";
import { type ChatWord, chatWordOf } from "../chat-words.ts";
import { interruptChoices } from "./choices.ts";
import { completed, endSearch, isCompletable, mentionAt, search, searched } from "./completing.ts";
import { type Editor, editorWith, edits, emptyEditor, insert, isEdit, moveLine } from "./editor.ts";
import { actionOf, type KeyAction } from "./keys.ts";

export const mostRemembered = 500;

/** A key with a name, while a message or an answer is written. */
export function pressKey(given: ChatState, chord: string): Stepped {
  const action = actionOf(chord);
  const state = action === "interrupt" ? given : { ...given, isLeaving: false };
  if (action === undefined) return pressHotkey(state, chord);
  if (isEdit(action)) return typed(state, edits[action](state.editor));
  return perform(state, action);
}

function perform(state: ChatState, action: Exclude<KeyAction, keyof typeof edits>): Stepped {
  switch (action) {
    case "send":
      return send(state);
    case "tab":
      return tab(state);
    case "up":
      return moveUp(state);
    case "down":
      return moveDown(state);
    case "escape":
      return pressEscape(state);
    case "interrupt":
      return interrupt(state);
    case "leave":
      return state.editor.text === "" ? leave(state) : stay(state);
    case "tree":
      return act({ ...state, panel: { is: "tree", chosen: null } }, { do: "read-tree" });
    case "inbox":
      return openInbox(state);
    case "sessions":
      return act({ ...state, panel: { is: "sessions", chosen: 0 } }, { do: "list-sessions" });
    case "help":
      return open(state, { is: "help", top: 0 });
    case "search":
      return stay(search(state));
    case "redraw":
      return act(state, { do: "redraw" });
    case "suspend":
      return act(state, { do: "suspend" });
    default:
      return action satisfies never;
  }
}

function act(state: ChatState, ...effects: readonly ChatEffect[]): Stepped {
  return { state, effects };
}

function open(state: ChatState, panel: Panel): Stepped {
  return stay({ ...state, panel });
}

/** The state with a new text in the editor; a command is completed while it is typed. */
export function typed(state: ChatState, editor: Editor): Stepped {
  if (editor.text === state.editor.text) return stay({ ...state, editor });
  if (state.search !== null) return stay(searched(state, editor));
  const next = { ...state, editor, completion: null, history: { ...state.history, place: null } };
  return isCompletable(editor) ? act(next, { do: "complete", editor }) : stay(next);
}

function send(state: ChatState): Stepped {
  const { answering, completion, editor } = state;
  if (state.search !== null) return stay(endSearch(state, true));
  if (completion && (completion.chosen > 0 || isPartOfPath(state))) return accept(state);
  if (editor.text.endsWith("\\") && editor.cursor === editor.text.length) {
    return typed(state, insert(edits.backspace(editor), "\n"));
  }
  const { text } = editor;
  if (text.trim() === "") return stay(state);
  const isOrder = /^[/!]/.test(text);
  if (answering !== null && !isOrder) {
    const { askId } = answering.question;
    const sent = { ...state, answering: null, editor: answering.draft, completion: null };
    return act({ ...sent, passed: withAsk(state, askId) }, { do: "answer", askId, text });
  }
  const cleared = remember({ ...state, editor: emptyEditor, completion: null }, text);
  const { effects, state: next } = isOrder ? order(cleared, text) : sayNext(cleared, text);
  return act(next, { do: "remember", text }, ...effects);
}

/** A mentioned file is completed by Enter, unless its path is there already. */
function isPartOfPath({ completion, editor }: ChatState): boolean {
  const mention = mentionAt(editor);
  return mention !== undefined && completion?.candidates[0]?.label !== `@${mention.wanted}`;
}

function withAsk({ passed }: ChatState, askId: string): ReadonlySet<string> {
  return new Set(passed).add(askId);
}

/** What is open now is not offered again by itself: Tab answers it. */
export function withOpenAsks(state: ChatState): ReadonlySet<string> {
  return new Set([...state.passed, ...openQuestions(state).map(({ askId }) => askId)]);
}

/** A command of the chat, of every surface, or of the person's shell. */
function order(state: ChatState, text: string): Stepped {
  const word = chatWordOf(text);
  if (word !== undefined) return sayChatWord(state, word);
  if (text.startsWith("!")) return runInShell(state, text.slice(1).trim());
  return act(state, { do: "command", text: text.trimEnd() });
}

function runInShell(state: ChatState, text: string): Stepped {
  if (text === "") return stay(state);
  if (state.shell === null) return act(state, { do: "shell", text });
  const notice = { tone: "warn", text: "A command runs already. Esc stops it." } as const;
  return stay({ ...state, notice, editor: editorWith(`!${text}`) });
}

/** A message: queued while the agent is at work, until the turn ends. */
function sayNext(state: ChatState, text: string): Stepped {
  if (state.turn !== null || state.isSending) {
    return stay({ ...state, queued: [...state.queued, text] });
  }
  const sending = { ...state, isSending: true, leavesAfterChildren: false };
  return act(sending, { do: "send", text });
}

function sayChatWord(state: ChatState, does: Exclude<ChatWord["does"], "command">): Stepped {
  switch (does) {
    case "leave":
      return leave(state);
    case "list-keys":
      return open(state, { is: "help", top: 0 });
    case "begin-session":
      return act(state, { do: "open-session", id: null });
    case "clear":
      return act(state, { do: "clear" });
    default:
      return does satisfies never;
  }
}

/** The history of this chat with a further text. */
export function remember(state: ChatState, text: string): ChatState {
  const said = [...state.history.said.filter((one) => one !== text), text].slice(-mostRemembered);
  return { ...state, history: { said, place: null, draft: "" } };
}

function tab(state: ChatState): Stepped {
  if (state.search !== null) return stay(endSearch(state, true));
  if (state.completion !== null) return accept(state);
  const [question] = openQuestions(state);
  if (question !== undefined && state.editor.text === "" && state.answering === null) {
    // What another run asks is read in the inbox first.
    return question.isHere ? stay(answer(state, question)) : openInbox(state);
  }
  const { editor } = state;
  return isCompletable(editor) ? act(state, { do: "complete", editor }) : stay(state);
}

/** Switches the editor to the answer of this question. */
export function answer(state: ChatState, question: OpenQuestion): ChatState {
  const draft = state.answering?.draft ?? state.editor;
  return { ...state, answering: { question, draft }, editor: emptyEditor, completion: null };
}

function accept(state: ChatState): Stepped {
  const { completion } = state;
  const chosen = completion?.candidates[completion.chosen];
  if (chosen === undefined) return stay(state);
  return typed(state, completed(chosen));
}

function pressEscape(state: ChatState): Stepped {
  if (state.search !== null) return stay(endSearch(state, false));
  if (state.completion !== null) return stay({ ...state, completion: null });
  if (state.answering !== null) {
    const { draft } = state.answering;
    // What was typed becomes a message, and not the answer to the next question.
    const editor = draft.text === "" ? state.editor : draft;
    return stay({ ...state, answering: null, passed: withOpenAsks(state), editor });
  }
  if (state.shell !== null) return act(state, { do: "stop-shell" });
  if (state.leavesAfterChildren) return stay({ ...state, leavesAfterChildren: false });
  return state.turn === null ? stay(state) : interruptTurn(state);
}

function interrupt(state: ChatState): Stepped {
  if (state.search !== null) return stay(endSearch(state, false));
  if (state.shell !== null) return act(state, { do: "stop-shell" });
  if (state.turn !== null && state.turn.ending === "no") return interruptTurn(state);
  const draft = state.answering?.draft ?? emptyEditor;
  if (state.editor.text !== "" || draft.text !== "") {
    return stay({ ...state, editor: draft, answering: null, completion: null });
  }
  if (state.isLeaving) return leave(state);
  return stay({ ...state, isLeaving: true });
}

/** Leaves; with background sub-agents the person chooses what happens to them. */
function leave(state: ChatState): Stepped {
  if (childrenInBackground(state).length === 0) return act(state, { do: "leave" });
  return open({ ...state, isLeaving: false }, { is: "leaving", chosen: 0 });
}

/** Interrupts the turn; with open children the person chooses what happens to them. */
function interruptTurn(state: ChatState): Stepped {
  const { turn } = state;
  if (turn === null || turn.ending !== "no") return stay(state);
  if (childrenAtWork(state).length > 0) {
    return open(state, { is: "interrupt", chosen: 0, choices: interruptChoices(state) });
  }
  const ending = { ...state, turn: { ...turn, ending: "cancel" as const } };
  return act(ending, { do: "interrupt", how: "cancel" });
}

function openInbox(state: ChatState): Stepped {
  const upTo = state.inbox.items.at(-1)?.id;
  const chosen = inboxOrder(state)[0]?.id ?? null;
  const opened: ChatState = { ...state, panel: { is: "inbox", chosen, top: 0 } };
  return upTo === undefined ? stay(opened) : act(opened, { do: "mark-read", upTo });
}

/** A hotkey acts as if its command was typed. */
function pressHotkey(state: ChatState, chord: string): Stepped {
  const hotkey = state.hotkeys.find(({ chords }) => chords.includes(chord));
  if (hotkey === undefined || state.search !== null) return stay(state);
  if (!hotkey.needsText) return act(state, { do: "command", text: hotkey.command });
  return typed(state, editorWith(hotkey.command + state.editor.text));
}

/** The line above; before the first line, the queued message, then the history. */
function moveUp(state: ChatState): Stepped {
  const { completion, editor, history, queued } = state;
  if (completion !== null) return choose(state, -1);
  const moved = moveLine(editor, -1);
  if (moved !== null) return stay({ ...state, editor: moved });
  // A queued message was not sent yet: it returns to the editor.
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

function moveDown(state: ChatState): Stepped {
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
