import type { Candidate } from "../../application/commands/complete-command.ts";
import type { InboxItem } from "../../events/inbox-item.ts";
import { nothingSpent, type Spent } from "../../events/spent.ts";
import type { SessionRow } from "../../sessions/list-sessions.ts";
import type { TreeRow } from "../cli/tree-rows.ts";
import type { Interrupt } from "./chat-input.ts";
import type { Entry, NoteTone } from "./entry.ts";
import { type Editor, emptyEditor } from "./keys/editor.ts";
import type { UsableHotkey } from "./keys/keys.ts";
import type { Turn } from "./turn.ts";

/** The state of the screen, before drawing. Texts are raw. */
export interface ChatState {
  readonly columns: number;
  readonly rows: number;
  /** How often the screen was redrawn, and its width before the last time. */
  readonly drawings: number;
  readonly columnsBefore: number;
  readonly now: number;
  readonly editor: Editor;
  readonly history: History;
  readonly session: ChatSession;
  readonly turn: Turn | null;
  /** A message was sent, and its run has not begun yet. */
  readonly isSending: boolean;
  /** The conversation, in order. It only grows: each entry is drawn once, above the live part. */
  readonly entries: readonly Entry[];
  /** Messages that wait for the turn to end. */
  readonly queued: readonly string[];
  /** The agents at work, in this session or beside it. */
  readonly agents: readonly AgentLine[];
  readonly tree: readonly TreeRow[];
  readonly inbox: ChatInbox;
  readonly sessions: readonly SessionRow[] | null;
  readonly completion: Completion | null;
  /** The question that Enter answers, and what was typed before it was chosen. */
  readonly answering: { readonly question: OpenQuestion; readonly draft: Editor } | null;
  /** Questions of this conversation that Enter does not answer: answered, or put off with Esc. */
  readonly passed: ReadonlySet<string>;
  /** Ctrl+R: the text in the editor is searched for in what was said before. */
  readonly search: { readonly draft: Editor } | null;
  readonly detail: Detail | null;
  /** The command of the person that runs. */
  readonly shell: { readonly command: string; readonly startedAt: number } | null;
  /** Entries before this one are not drawn again: the screen was cleared. */
  readonly clearedAt: number;
  readonly figures: Figures;
  readonly panel: Panel;
  readonly notice: { readonly text: string; readonly tone: NoteTone } | null;
  readonly hotkeys: readonly UsableHotkey[];
  /** Ctrl-C was pressed with nothing to interrupt: once more, and it leaves. */
  readonly isLeaving: boolean;
  /** The person leaves when nothing runs in the background any more. */
  readonly leavesAfterChildren: boolean;
  /** The person has left: only the conversation stays on the screen. */
  readonly isClosed: boolean;
}

export interface ChatInbox {
  readonly items: readonly InboxItem[];
  readonly unread: number;
  /** Whole questions, by ask: an item has the first part only, and a person must not approve what they cannot read. */
  readonly questions: ReadonlyMap<string, WholeQuestion>;
}

export interface WholeQuestion {
  /** The label of the asking delegation: `writer#3f2a10`. */
  readonly who: string;
  readonly text: string;
  /** The edit that an approval is about, as a patch. */
  readonly patch?: string;
  /** The task of the agent's run. */
  readonly task: string;
}

/** The amounts in the status line. */
export interface Figures {
  readonly model: string;
  readonly spent: Spent;
  /** The tokens of the last request and its answer, and of the model's context window. */
  readonly context: { readonly tokens: number; readonly window: number | undefined } | null;
}

/** One delegation on a page of its own, opened from the tree or the inbox. */
export interface Detail {
  readonly id: string;
  readonly label: string;
  readonly pages: readonly DetailPage[];
}

export interface DetailPage {
  readonly title: "summary" | "transcript" | "changes";
  readonly entries: readonly Entry[];
}

export interface ChatSession {
  /** The delegation to continue from; null: nothing was said yet. */
  readonly id: string | null;
  readonly title: string;
  readonly profile: string;
  /** Names the source of the answers when it is not a language model. */
  readonly modelNotice: string;
}

export interface History {
  readonly said: readonly string[];
  /** The index of the message in the editor; null: a new message. */
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
  /** The agent works below a root that has given its answer. */
  readonly isBackground: boolean;
  readonly isWatching: boolean;
  readonly isAsking: boolean;
  /** The run belongs to the conversation, and is not beside it. */
  readonly isHere: boolean;
  /** What its contract says about its parent being interrupted; absent until that was read. */
  readonly onInterrupt?: "cancel" | "pause" | "continue";
}

export interface OpenQuestion extends WholeQuestion {
  readonly askId: string;
  /** An agent of this conversation asks. */
  readonly isHere: boolean;
  readonly kind: "ask" | "approval";
  readonly title: string;
  readonly deadlineAt: number;
  readonly default: string | null;
}

export interface ChatCandidate extends Candidate {
  /** The text that is shown for the choice; absent: the text itself. */
  readonly label?: string;
  /** Where the cursor is behind it; absent: at the end. */
  readonly cursor?: number;
}

export interface Completion {
  /** The text that the suggestions complete. */
  readonly of: string;
  readonly candidates: readonly ChatCandidate[];
  readonly chosen: number;
}

export type Panel =
  | { readonly is: "none" }
  | { readonly is: "help"; readonly top: number }
  /** `chosen` is an id: rows move while agents start and end. */
  | { readonly is: "tree"; readonly chosen: string | null }
  /** `chosen` is an id, so that a new item cannot move under the key; `top` is the first visible line. */
  | { readonly is: "inbox"; readonly chosen: number | null; readonly top: number }
  | { readonly is: "sessions"; readonly chosen: number }
  /** `back`: where Esc leads. */
  | {
      readonly is: "detail";
      readonly page: number;
      readonly top: number;
      readonly back: PanelOf<"tree"> | PanelOf<"inbox">;
    }
  /** `choices` are fixed when the panel opens: a number keeps its meaning. */
  | {
      readonly is: "interrupt";
      readonly chosen: number;
      readonly choices: readonly InterruptChoice[];
    }
  /** The person leaves while sub-agents run in the background. */
  | { readonly is: "leaving"; readonly chosen: number };

export interface InterruptChoice {
  readonly how: Interrupt | "go-on";
  readonly text: string;
  readonly detail: string;
}

export type PanelOf<Kind extends Panel["is"]> = Extract<Panel, { is: Kind }>;

export const noPanel: Panel = { is: "none" };

export interface ChatOpening {
  readonly columns: number;
  readonly rows: number;
  readonly now: number;
  readonly session: ChatSession;
  readonly hotkeys: readonly UsableHotkey[];
  readonly model: string;
  /** What the person said in earlier chats, the oldest first. */
  readonly said: readonly string[];
}

export function openChatState({ model, said, ...opening }: ChatOpening): ChatState {
  return {
    ...opening,
    drawings: 0,
    columnsBefore: opening.columns,
    editor: emptyEditor,
    history: { said, place: null, draft: "" },
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
    passed: new Set(),
    search: null,
    detail: null,
    shell: null,
    clearedAt: 0,
    figures: { model, spent: nothingSpent, context: null },
    panel: noPanel,
    notice: null,
    isLeaving: false,
    leavesAfterChildren: false,
    isClosed: false,
  };
}

/** The open questions: those of this conversation first, then the oldest first. */
export function openQuestions(
  state: Pick<ChatState, "agents" | "inbox" | "turn">,
): readonly OpenQuestion[] {
  const { agents, inbox, turn } = state;
  const here = new Set(agents.filter(({ isHere }) => isHere).map(({ runId }) => runId));
  const open = inbox.items.flatMap((item): readonly OpenQuestion[] => {
    const { ask, isOpen, kind, runId } = item;
    if (!ask || !isOpen || (kind !== "ask" && kind !== "approval")) return [];
    const { deadlineAt, default: fallback, id: askId } = ask;
    const title = titleOf(item);
    const whole = inbox.questions.get(askId) ?? { who: title, text: item.text, task: "" };
    const isHere = runId === turn?.runId || here.has(runId);
    return [{ ...whole, askId, kind, title, isHere, deadlineAt, default: fallback }];
  });
  return [...open.filter(({ isHere }) => isHere), ...open.filter(({ isHere }) => !isHere)];
}

/** The title with the id of the asking delegation: several may have one name. */
export function titleOf({ ask, delegationId, title }: InboxItem): string {
  return ask === undefined || delegationId === undefined ? title : `${title} (#${delegationId})`;
}

/** The items in the order of the inbox panel: open ones first, then the newest. */
export function inboxOrder({ inbox }: Pick<ChatState, "inbox">): readonly InboxItem[] {
  const open = inbox.items.filter(({ isOpen }) => isOpen);
  return [...open, ...inbox.items.filter(({ isOpen }) => !isOpen).reverse()];
}

/** The open children of the turn's root, which an interrupt must decide about. */
export function childrenAtWork({
  agents,
  turn,
}: Pick<ChatState, "agents" | "turn">): readonly AgentLine[] {
  return agents.filter(
    ({ isRoot, isWatching, runId }) => runId === turn?.runId && !isRoot && !isWatching,
  );
}

/** The agents below a root that has already answered. */
export function childrenInBackground({ agents }: Pick<ChatState, "agents">): readonly AgentLine[] {
  return agents.filter(({ isBackground }) => isBackground);
}

const leastColumns = 30;
const leastRows = 10;

/** Whether a question and its answers do not fit: then no question can be answered. */
export function isTooSmall({ columns, rows }: Pick<ChatState, "columns" | "rows">): boolean {
  return columns < leastColumns || rows < leastRows;
}

export const tooSmallText = `This window is too small: ${leastColumns} columns and ${leastRows} lines are needed. Ctrl+C twice leaves.`;

/** The index of the spinner's frame. */
export function beatOf({ now }: Pick<ChatState, "now">): number {
  return Math.floor(now / 125);
}
