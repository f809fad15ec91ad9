import type { StoredEvent } from "../../events/event.ts";
import { isInboxType } from "../../events/inbox-item.ts";
import { type ChatInput, type Stepped, stay } from "./chat-input.ts";
import { type ChatState, isTooSmall, noPanel, openQuestions } from "./chat-state.ts";
import type { Entry } from "./entry.ts";
import { editorWith, insert, mostTyped } from "./keys/editor.ts";
import { actionOf } from "./keys/keys.ts";
import { pressInPanel } from "./keys/press-in-panel.ts";
import {
  answer,
  mostRemembered,
  pressKey,
  remember,
  typed,
  withOpenAsks,
} from "./keys/press-key.ts";
import { streamMore } from "./streamed-answer.ts";
import { type Folded, foldTurn, type Turn } from "./turn.ts";

/** The next state of a chat, and its effects. Pure: the same inputs give the same screen. */
export function stepChat(state: ChatState, input: ChatInput): Stepped {
  const { effects, state: next } = take(state, input);
  return { effects, state: offerAnswer(next) };
}

/**
 * An empty line answers the open question of the conversation: its frame says so before anything is
 * typed. A text that was begun before the question came stays a message.
 */
function offerAnswer(state: ChatState): ChatState {
  const { answering, editor, inbox, passed, search } = state;
  if (answering !== null || search !== null || editor.text !== "" || inbox.items.length === 0) {
    return state;
  }
  const asked = openQuestions(state).find(({ askId, isHere }) => isHere && !passed.has(askId));
  return asked === undefined ? state : answer(state, asked);
}

function take(state: ChatState, input: ChatInput): Stepped {
  switch (input.type) {
    case "key":
      return pressChord({ ...state, notice: null }, input.chord);
    case "text":
      return pressText({ ...state, notice: null }, input.text);
    case "paste":
      return state.panel.is === "none" && !isTooSmall(state)
        ? pasted({ ...state, notice: null, isLeaving: false }, input.text)
        : stay(state);
    case "event":
      return foldEvent(state, input);
    case "resized":
      return resize(state, input);
    default:
      return stay(takeFact(state, input));
  }
}

function pressChord(state: ChatState, chord: string): Stepped {
  if (isTooSmall(state)) return pressBlindly(state, chord);
  if (state.panel.is !== "none") return pressInPanel(state, chord);
  return pressKey(state, chord);
}

function pressText(state: ChatState, text: string): Stepped {
  if (isTooSmall(state)) return stay(state);
  if (state.panel.is !== "none") return pressLetters(state, text);
  if (text === "?" && state.editor.text === "" && state.search === null) {
    return stay({ ...state, panel: { is: "help", top: 0 } });
  }
  return typed({ ...state, isLeaving: false }, insert(state.editor, text));
}

/** A slow connection delivers several keys at once; only those that move are applied one by one. */
function pressLetters(state: ChatState, text: string): Stepped {
  if (!/^[jk ]+$/.test(text)) return pressInPanel(state, text);
  let stepped = stay(state);
  for (const letter of text) stepped = pressInPanel(stepped.state, letter);
  return stepped;
}

/** On a screen that is too small, a key must not answer, send or interrupt anything. */
function pressBlindly(state: ChatState, chord: string): Stepped {
  const action = actionOf(chord);
  if (action === "suspend") return { state, effects: [{ do: "suspend" }] };
  if (action !== "interrupt") return stay({ ...state, isLeaving: false });
  if (state.isLeaving) return { state, effects: [{ do: "leave" }] };
  return stay({ ...state, isLeaving: true });
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
  const folded = foldTurn(state.turn, event);
  const { entries, isOver, turn } = folded;
  if (turn === state.turn) return stay(state);
  const next = { ...state, turn, entries: joined(state.entries, entries) };
  const items = itemsTold(state.turn, event, folded);
  const stepped = isOver ? endTurn(next) : stay(next);
  if (items.length === 0) return stepped;
  return { ...stepped, effects: [{ do: "note-told", items }, ...stepped.effects] };
}

/** Returns the same list where nothing is new: what is drawn of it need not be compared. */
function joined(entries: readonly Entry[], more: readonly Entry[]): readonly Entry[] {
  return more.length === 0 ? entries : [...entries, ...more];
}

/** Sends the queued messages, unless the person interrupted: then they return to the editor. */
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

/**
 * The inbox items that the conversation has shown with this event; an item's id is the seq of its
 * event. Events of deeper descendants, which the conversation does not show, are not among them.
 */
function itemsTold(
  before: Turn,
  event: StoredEvent,
  { entries }: Pick<Folded, "entries">,
): readonly number[] {
  if (!isInboxType(event.type)) return [];
  switch (event.type) {
    // A question joins the conversation with its answer; while it is open it has its own place on the screen.
    case "agent.answered": {
      const question = before.asked.get(event.payload.ask_id);
      return question === undefined ? [] : [question.item, event.seq];
    }
    // The questions of the run are closed.
    case "run.finished":
      return [...[...before.asked.values()].map(({ item }) => item), event.seq];
    // The conversation shows each step as it ends.
    case "run.planned":
      return event.payload.by === before.rootId ? [event.seq] : [];
    // The last message of the root shows its end.
    case "agent.subagent_closed":
      return entries.length > 0 || event.payload.sub_agent_id === before.rootId ? [event.seq] : [];
    default:
      return entries.length > 0 ? [event.seq] : [];
  }
}

/** Inputs that change the state without effects. */
export type Fact = Exclude<ChatInput, { type: "key" | "text" | "paste" | "event" | "resized" }>;

function takeFact(state: ChatState, input: Fact): ChatState {
  switch (input.type) {
    case "redrawn":
      return { ...state, drawings: state.drawings + 1, columnsBefore: state.columns };
    case "cleared":
      return { ...state, clearedAt: state.entries.length };
    case "shell": {
      const { command } = input;
      return { ...state, shell: command === null ? null : { command, startedAt: state.now } };
    }
    case "tick":
      return { ...state, now: input.now };
    case "closed":
      return { ...state, isClosed: true, panel: noPanel };
    case "opened": {
      const opened: ChatState = {
        ...state,
        session: input.session,
        entries: [...state.entries, ...input.entries],
        // Messages of other sessions stay in the history, before those of this one.
        history: { said: mergeSaid(state.history.said, input.said), place: null, draft: "" },
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
      const more = streamMore(turn, input.text);
      return { ...state, turn: more.turn, entries: joined(state.entries, more.entries) };
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
    case "unanswered": {
      const passed = new Set([...state.passed].filter((askId) => askId !== input.askId));
      const question = openQuestions(state).find(({ askId }) => askId === input.askId);
      if (question === undefined || state.editor.text !== "") return { ...state, passed };
      return { ...answer({ ...state, passed }, question), editor: editorWith(input.text) };
    }
    case "entries":
      return { ...state, entries: [...state.entries, ...input.entries] };
    case "agents":
      return { ...state, agents: input.agents };
    case "figures":
      return { ...state, figures: input.figures };
    case "detail":
      return state.panel.is === "detail" ? { ...state, detail: input.detail } : state;
    case "tree":
      return { ...state, tree: input.rows };
    case "inbox":
      return dropClosedQuestion({ ...state, inbox: input.inbox });
    case "sessions":
      return { ...state, sessions: input.rows };
    case "candidates":
      return input.of === state.editor.text && state.search === null
        ? { ...state, completion: completionOf(input) }
        : state;
    case "notice":
      return { ...state, notice: input.notice };
    default:
      return input satisfies never;
  }
}

/** A new width redraws all lines, and wraps the page of a delegation again. */
function resize(
  state: ChatState,
  { columns, rows }: Extract<ChatInput, { type: "resized" }>,
): Stepped {
  if (columns === state.columns) return stay({ ...state, rows });
  const { columns: columnsBefore, detail, drawings } = state;
  const next = { ...state, columns, rows, columnsBefore, drawings: drawings + 1 };
  return { state: next, effects: detail === null ? [] : [{ do: "read-detail", id: detail.id }] };
}

function mergeSaid(before: readonly string[], here: readonly string[]): readonly string[] {
  const known = new Set(here);
  return [...before.filter((text) => !known.has(text)), ...here].slice(-mostRemembered);
}

function completionOf({
  candidates,
  of,
}: Extract<Fact, { type: "candidates" }>): ChatState["completion"] {
  const isTyped = candidates.length === 1 && candidates[0]?.text === of;
  return candidates.length === 0 || isTyped ? null : { of, candidates, chosen: 0 };
}

/** The question was answered elsewhere, or its deadline has passed: Up gives the typed answer back. */
function dropClosedQuestion(state: ChatState): ChatState {
  const { answering } = state;
  if (answering === null) return state;
  const isOpen = openQuestions(state).some(({ askId }) => askId === answering.question.askId);
  if (isOpen) return state;
  const notice = {
    tone: "warn",
    text: "That question has its answer, or its time is over.",
  } as const;
  const next = { ...state, answering: null, editor: answering.draft, notice };
  if (state.editor.text === "") return { ...next, notice: null };
  // A person who is typing a word must not answer the next question with its end.
  return remember({ ...next, passed: withOpenAsks(state) }, state.editor.text);
}

/** Returns unsent messages to the editor, before the text typed since. */
function giveBack(state: ChatState, text: string): ChatState {
  if (text === "") return state;
  const { text: before } = state.editor;
  return { ...state, editor: editorWith(before === "" ? text : `${text}\n${before}`) };
}
