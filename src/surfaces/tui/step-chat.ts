import type { ChatInput, Stepped } from "./chat-input.ts";
import { type ChatState, noPanel, openQuestions } from "./chat-state.ts";
import { editorWith, emptyEditor, insert, mostTyped } from "./editor.ts";
import { foldTurn } from "./fold-turn.ts";
import { pressInPanel } from "./press-in-panel.ts";
import { pressKey, typed } from "./press-key.ts";

/** The next state of a chat, and what is to be done. Pure: the same inputs give the same screen. */
export function stepChat(state: ChatState, input: ChatInput): Stepped {
  switch (input.type) {
    case "key":
      return pressChord({ ...state, notice: null }, input.chord);
    case "text":
      return pressText({ ...state, notice: null }, input.text);
    case "paste":
      return state.panel.is === "none"
        ? pasted({ ...state, notice: null, isLeaving: false }, input.text)
        : stay(state);
    case "event":
      return foldEvent(state, input);
    default:
      return stay(takeFact(state, input));
  }
}

function stay(state: ChatState): Stepped {
  return { state, effects: [] };
}

function pressChord(state: ChatState, chord: string): Stepped {
  if (state.panel.is !== "none") return pressInPanel(state, chord);
  return pressKey(state, chord);
}

function pressText(state: ChatState, text: string): Stepped {
  if (state.panel.is !== "none") return pressInPanel(state, text);
  if (text === "?" && state.editor.text === "" && state.answering === null) {
    return stay({ ...state, panel: { is: "help", top: 0 } });
  }
  return typed({ ...state, isLeaving: false }, insert(state.editor, text));
}

function pasted(state: ChatState, text: string): Stepped {
  const isCut = state.editor.text.length + text.length > mostTyped;
  const stepped = typed(state, insert(state.editor, text));
  if (!isCut) return stepped;
  const notice = {
    tone: "warn",
    text: `The paste was cut at ${mostTyped} characters: put the rest into a file.`,
  } as const;
  return { ...stepped, state: { ...stepped.state, notice } };
}

function foldEvent(state: ChatState, { event }: Extract<ChatInput, { type: "event" }>): Stepped {
  if (state.turn === null) return stay(state);
  const { entries, isOver, turn } = foldTurn(state.turn, event);
  if (turn === state.turn) return stay(state);
  const next =
    entries.length === 0
      ? { ...state, turn }
      : { ...state, turn, entries: [...state.entries, ...entries] };
  return isOver ? endTurn(next) : stay(next);
}

/** The next message goes out, unless the person interrupted: then it is theirs to change. */
function endTurn(state: ChatState): Stepped {
  const { panel, queued, turn } = state;
  const ended: ChatState = {
    ...state,
    turn: null,
    queued: [],
    panel: panel.is === "interrupt" ? noPanel : panel,
  };
  if (queued.length === 0) return stay(ended);
  const text = queued.join("\n");
  if (turn?.ending !== "no") return stay(giveBack(ended, text));
  return { state: { ...ended, isSending: true }, effects: [{ do: "send", text }] };
}

function giveBack(state: ChatState, text: string): ChatState {
  if (text === "") return state;
  const { text: before } = state.editor;
  return { ...state, editor: editorWith(before === "" ? text : `${text}\n${before}`) };
}

type Fact = Exclude<ChatInput, { type: "key" | "text" | "paste" | "event" }>;

function takeFact(state: ChatState, input: Fact): ChatState {
  switch (input.type) {
    case "resized":
      return { ...state, columns: input.columns, rows: input.rows };
    case "tick":
      return { ...state, now: input.now };
    case "closed":
      return { ...state, isClosed: true, panel: noPanel };
    case "opened": {
      const opened: ChatState = {
        ...state,
        session: input.session,
        entries: [...state.entries, ...input.entries],
        history: { said: input.said, place: null, draft: "" },
        turn: null,
        isSending: false,
        queued: [],
        panel: noPanel,
      };
      return giveBack(opened, state.queued.join("\n"));
    }
    case "began": {
      const turn = input.events.reduce((so, event) => foldTurn(so, event).turn, input.turn);
      return {
        ...state,
        turn,
        isSending: false,
        session: { ...state.session, id: turn.rootId, profile: turn.profile },
      };
    }
    case "delta": {
      const { turn } = state;
      if (turn?.rootId !== input.delegationId) return state;
      return { ...state, turn: { ...turn, streamed: turn.streamed + input.text } };
    }
    case "stopped": {
      const said = { kind: "note", tone: "bad", text: input.reason } as const;
      const back = [input.giveBack, ...state.queued].filter((text) => text !== "").join("\n");
      const next = {
        ...state,
        turn: null,
        isSending: false,
        queued: [],
        entries: [...state.entries, said],
      };
      return giveBack(next, back);
    }
    case "entries":
      return { ...state, entries: [...state.entries, ...input.entries] };
    case "agents":
      return { ...state, agents: input.agents };
    case "tree":
      return { ...state, tree: input.rows };
    case "inbox":
      return dropClosedQuestion({ ...state, inbox: input.inbox });
    case "sessions":
      return { ...state, sessions: input.rows };
    case "candidates":
      return input.of === state.editor.text && state.answering === null
        ? { ...state, completion: completionOf(input) }
        : state;
    case "notice":
      return { ...state, notice: input.notice };
    default:
      return input satisfies never;
  }
}

function completionOf({
  candidates,
  of,
}: Extract<Fact, { type: "candidates" }>): ChatState["completion"] {
  const isTyped = candidates.length === 1 && candidates[0]?.text === of;
  return candidates.length === 0 || isTyped ? null : { of, candidates, chosen: 0 };
}

/** Somebody else answered, or its time is over: what was typed for it goes nowhere. */
function dropClosedQuestion(state: ChatState): ChatState {
  const { answering } = state;
  if (answering === null) return state;
  const isOpen = openQuestions(state).some(({ askId }) => askId === answering.question.askId);
  if (isOpen) return state;
  const notice = {
    tone: "warn",
    text: "That question has its answer, or its time is over.",
  } as const;
  return { ...state, answering: null, editor: answering.draft ?? emptyEditor, notice };
}
