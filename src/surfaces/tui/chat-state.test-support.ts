import type { StoredEvent } from "../../events/event.ts";
import type { InboxItem } from "../../events/inbox-item.ts";
import { styleFor } from "../cli/style.ts";
import type { ChatEffect, ChatInput } from "./chat-input.ts";
import { type AgentLine, type ChatState, openChatState } from "./chat-state.ts";
import { stepChat } from "./step-chat.ts";
import { beginTurn } from "./turn.ts";

const writer = {
  write: () => undefined,
  writeExact: () => undefined,
  isTerminal: true,
  columns: 80,
  rows: 24,
};
export const coloured = styleFor(writer, { environment: { LANG: "C.UTF-8" } });
export const plain = styleFor(writer, { environment: { NO_COLOR: "1", LANG: "C" } });

export const session = { id: null, title: "", profile: "general", modelNotice: "" };
export const opened = openedAt(80, 24);

/** At a terminal of this size. */
export function openedAt(columns: number, rows: number): ChatState {
  return openChatState({
    columns,
    rows,
    now: 0,
    session,
    hotkeys: [],
    model: "office/large",
    said: [],
  });
}

export function key(chord: string): ChatInput {
  return { type: "key", chord };
}

export function text(typed: string): ChatInput {
  return { type: "text", text: typed };
}

export function step(state: ChatState, ...inputs: readonly ChatInput[]) {
  const effects: ChatEffect[] = [];
  let now = state;
  for (const input of inputs) {
    const stepped = stepChat(now, input);
    now = stepped.state;
    effects.push(...stepped.effects);
  }
  return { state: now, effects };
}

const turn = beginTurn({ runId: "r1", rootId: "root", profile: "general", startedAt: 0 });
export const working = step(opened, { type: "began", turn, events: [] }).state;

export function agent(about: Partial<AgentLine>): AgentLine {
  return {
    id: "child",
    runId: "r1",
    label: "researcher#child",
    state: "running",
    isRoot: false,
    isBackground: false,
    isWatching: false,
    isAsking: false,
    isHere: true,
    ...about,
  };
}

export const finished = {
  type: "run.finished",
  payload: { outcome: "succeeded", cause: { code: "all_closed" }, reason: "" },
  run_id: "r1",
  run_seq: 1,
  seq: 1,
  at: 0,
  summary: "",
  hash: "",
} satisfies StoredEvent;

export const asked: InboxItem = {
  id: 7,
  at: 0,
  runId: "r1",
  delegationId: "child",
  kind: "approval",
  severity: "warn",
  title: "researcher asks",
  text: "May it?",
  isOpen: true,
  ask: { id: "a1", deadlineAt: 1000, default: null },
};

export function inbox(items: readonly InboxItem[]): ChatInput {
  return { type: "inbox", inbox: { items, unread: items.length, questions: new Map() } };
}
