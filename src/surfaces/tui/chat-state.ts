import type { Candidate } from "../../application/commands/complete-command.ts";
import type { InboxItem } from "../../events/inbox-item.ts";
import type { SessionRow } from "../../sessions/session-row.ts";
import type { TreeRow } from "../cli/tree-rows.ts";
import type { Entry, NoteTone } from "./entry.ts";
import { type Editor, emptyEditor } from "./keys/editor.ts";
import type { InterruptChoice } from "./keys/interrupt-choices.ts";
import type { UsableHotkey } from "./keys/keys.ts";
import type { Turn } from "./turn.ts";

/** All that the screen shows. Nothing in it is drawn yet, and texts are as they came. */
export interface ChatState {
  readonly columns: number;
  readonly rows: number;
  /** How often the screen was drawn anew, and how wide it was before that. */
  readonly drawings: number;
  readonly columnsBefore: number;
  readonly now: number;
  readonly editor: Editor;
  readonly history: History;
  readonly session: ChatSession;
  readonly turn: Turn | null;
  /** A message left, and its run has not begun yet. */
  readonly isSending: boolean;
  /** What was said, in order. Only grows: each is drawn once, above everything that moves. */
  readonly entries: readonly Entry[];
  /** Messages that wait for the turn to end. */
  readonly queued: readonly string[];
  /** Everybody who works here, in this session or beside it. */
  readonly agents: readonly AgentLine[];
  readonly tree: readonly TreeRow[];
  readonly inbox: ChatInbox;
  readonly sessions: readonly SessionRow[] | null;
  readonly completion: Completion | null;
  /** The question that is being answered, and what was typed before that. */
  readonly answering: { readonly question: OpenQuestion; readonly draft: Editor } | null;
  readonly panel: Panel;
  readonly notice: { readonly text: string; readonly tone: NoteTone } | null;
  readonly hotkeys: readonly UsableHotkey[];
  /** Ctrl-C was pressed with nothing to interrupt: once more, and it leaves. */
  readonly isLeaving: boolean;
  /** The person leaves when nothing runs in the background any more. */
  readonly leavesAfterChildren: boolean;
  /** The person has left: what was said stays on the screen, and nothing else. */
  readonly isClosed: boolean;
}

export interface ChatInbox {
  readonly items: readonly InboxItem[];
  readonly unread: number;
  /** Whole questions, by ask: an item has the beginning of one, and nobody consents to a beginning. */
  readonly questions: ReadonlyMap<string, string>;
}

export interface ChatSession {
  /** The delegation to continue from; null: nothing was said yet. */
  readonly id: string | null;
  readonly title: string;
  readonly profile: string;
  /** Where the answers come from, where that is no language model. */
  readonly modelNotice: string;
}

export interface History {
  readonly said: readonly string[];
  /** Which of them is in the editor; null: what is being written. */
  readonly place: number | null;
  readonly draft: string;
}

export interface AgentLine {
  readonly id: string;
  readonly runId: string;
  /** `oracle#3f2a10` */
  readonly label: string;
  /** `running`, `watching`, … */
  readonly state: string;
  readonly isRoot: boolean;
  /** It works below a root that has given its answer. */
  readonly isBackground: boolean;
  readonly isWatching: boolean;
  readonly isAsking: boolean;
  /** What its contract says about its parent being interrupted; absent until that was read. */
  readonly onInterrupt?: "cancel" | "pause" | "continue";
}

export interface OpenQuestion {
  readonly askId: string;
  readonly kind: "ask" | "approval";
  readonly title: string;
  readonly text: string;
  readonly deadlineAt: number;
  readonly default: string | null;
}

export interface Completion {
  /** The text that they complete. */
  readonly of: string;
  readonly candidates: readonly Candidate[];
  readonly chosen: number;
}

export type Panel =
  | { readonly is: "none" }
  | { readonly is: "help"; readonly top: number }
  | { readonly is: "tree"; readonly top: number }
  /** By its id, so that no other question moves under the key; `top` is the first line of it. */
  | { readonly is: "inbox"; readonly chosen: number | null; readonly top: number }
  | { readonly is: "sessions"; readonly chosen: number }
  /** What is offered does not change while one chooses: a number means what was read beside it. */
  | {
      readonly is: "interrupt";
      readonly chosen: number;
      readonly choices: readonly InterruptChoice[];
    }
  /** The person leaves while sub-agents run in the background. */
  | { readonly is: "leaving"; readonly chosen: number };

export const noPanel: Panel = { is: "none" };

export interface ChatOpening {
  readonly columns: number;
  readonly rows: number;
  readonly now: number;
  readonly session: ChatSession;
  readonly hotkeys: readonly UsableHotkey[];
}

export function openChatState(opening: ChatOpening): ChatState {
  return {
    ...opening,
    drawings: 0,
    columnsBefore: opening.columns,
    editor: emptyEditor,
    history: { said: [], place: null, draft: "" },
    turn: null,
    isSending: false,
    entries: [],
    queued: [],
    agents: [],
    tree: [],
    inbox: { items: [], unread: 0, questions: new Map() },
    sessions: null,
    completion: null,
    answering: null,
    panel: noPanel,
    notice: null,
    isLeaving: false,
    leavesAfterChildren: false,
    isClosed: false,
  };
}

/** What waits for an answer, the oldest first. */
export function openQuestions({ inbox }: Pick<ChatState, "inbox">): readonly OpenQuestion[] {
  return inbox.items.flatMap((item) => {
    const { ask, isOpen, kind, text } = item;
    if (!ask || !isOpen || (kind !== "ask" && kind !== "approval")) return [];
    const { deadlineAt, default: fallback, id: askId } = ask;
    const whole = inbox.questions.get(askId) ?? text;
    const title = titleOf(item);
    return [{ askId, kind, title, text: whole, deadlineAt, default: fallback }];
  });
}

/** With the id of who asks: several agents of one name may. */
export function titleOf({ ask, delegationId, title }: InboxItem): string {
  return ask === undefined || delegationId === undefined ? title : `${title} (#${delegationId})`;
}

/** As the inbox panel lists it: what waits first, then the newest. */
export function inboxOrder({ inbox }: Pick<ChatState, "inbox">): readonly InboxItem[] {
  const open = inbox.items.filter(({ isOpen }) => isOpen);
  return [...open, ...inbox.items.filter(({ isOpen }) => !isOpen).reverse()];
}

/** Who works for the root of the turn, and would be left behind by it. */
export function childrenAtWork({
  agents,
  turn,
}: Pick<ChatState, "agents" | "turn">): readonly AgentLine[] {
  return agents.filter(
    ({ isRoot, isWatching, runId }) => runId === turn?.runId && !isRoot && !isWatching,
  );
}

/** Who works below a root that has answered already. */
export function childrenInBackground({ agents }: Pick<ChatState, "agents">): readonly AgentLine[] {
  return agents.filter(({ isBackground }) => isBackground);
}
