import type { ChatInput } from "./chat-input.ts";
import { type ChatState, noPanel, openQuestions } from "./chat-state.ts";
import { foldTurn } from "./fold-turn.ts";
import { editorWith, emptyEditor } from "./keys/editor.ts";
import { mostRemembered } from "./keys/press-key.ts";

/** What happens to a chat without anything being done about it. */
export type Fact = Exclude<ChatInput, { type: "key" | "text" | "paste" | "event" }>;

export function takeFact(state: ChatState, input: Fact): ChatState {
  switch (input.type) {
    case "resized":
      return resized(state, input);
    case "redrawn":
      return { ...state, drawings: state.drawings + 1, columnsBefore: state.columns };
    case "tick":
      return { ...state, now: input.now };
    case "closed":
      return { ...state, isClosed: true, panel: noPanel };
    case "opened": {
      const opened: ChatState = {
        ...state,
        session: input.session,
        entries: [...state.entries, ...input.entries],
        // What one said elsewhere stays within reach, behind what was said here.
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

/** Lines are made for a width: with another one all are made again. */
function resized(state: ChatState, { columns, rows }: Extract<Fact, { type: "resized" }>) {
  if (columns === state.columns) return { ...state, rows };
  const columnsBefore = state.columns;
  return { ...state, columns, rows, columnsBefore, drawings: state.drawings + 1 };
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

/** What was said and did not go out is the person's again, before what was typed since. */
export function giveBack(state: ChatState, text: string): ChatState {
  if (text === "") return state;
  const { text: before } = state.editor;
  return { ...state, editor: editorWith(before === "" ? text : `${text}\n${before}`) };
}
