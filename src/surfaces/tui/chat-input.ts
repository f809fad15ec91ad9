import type { StoredEvent } from "../../events/event.ts";
import type { SessionRow } from "../../sessions/list-sessions.ts";
import type { TreeRow } from "../cli/tree-rows.ts";
import type {
  AgentLine,
  ChatCandidate,
  ChatInbox,
  ChatSession,
  ChatState,
  Detail,
  Figures,
} from "./chat-state.ts";
import type { Entry } from "./entry.ts";
import type { Editor } from "./keys/editor.ts";
import type { Pressed } from "./keys/keys.ts";
import type { Turn } from "./turn.ts";

/** Everything that can happen to a chat: keys, and facts from around it. */
export type ChatInput =
  | Pressed
  | { readonly type: "resized"; readonly columns: number; readonly rows: number }
  | { readonly type: "shell"; readonly command: string | null }
  | { readonly type: "cleared" }
  /** The screen was cleared and has to be drawn again. */
  | { readonly type: "redrawn" }
  | { readonly type: "tick"; readonly now: number }
  | { readonly type: "closed" }
  /** Another session is open now; `said` are the person's messages in it. */
  | {
      readonly type: "opened";
      readonly session: ChatSession;
      readonly entries: readonly Entry[];
      readonly said: readonly string[];
    }
  /** A run of this session began or was recovered: `events` are those that it has so far. */
  | { readonly type: "began"; readonly turn: Turn; readonly events: readonly StoredEvent[] }
  | { readonly type: "event"; readonly event: StoredEvent }
  | { readonly type: "delta"; readonly delegationId: string; readonly text: string }
  /** The message could not be sent, or another process has the run now. */
  | { readonly type: "stopped"; readonly reason: string; readonly giveBack: string }
  /** The text was no answer: it may be corrected, if the question is still open. */
  | { readonly type: "unanswered"; readonly askId: string; readonly text: string }
  | { readonly type: "entries"; readonly entries: readonly Entry[] }
  | { readonly type: "agents"; readonly agents: readonly AgentLine[] }
  | { readonly type: "figures"; readonly figures: Figures }
  | { readonly type: "detail"; readonly detail: Detail }
  | { readonly type: "tree"; readonly rows: readonly TreeRow[] }
  | { readonly type: "inbox"; readonly inbox: ChatInbox }
  | { readonly type: "sessions"; readonly rows: readonly SessionRow[] }
  | {
      readonly type: "candidates";
      readonly of: string;
      readonly candidates: readonly ChatCandidate[];
    }
  | { readonly type: "notice"; readonly notice: NonNullable<ChatState["notice"]> };

/** An effect that the chat requests. The driver performs it and reports back as inputs. */
export type ChatEffect =
  /** Sends the text to the open session, or to a new one. */
  | { readonly do: "send"; readonly text: string }
  | { readonly do: "command"; readonly text: string }
  /** `!`: a command of the person's own. */
  | { readonly do: "shell"; readonly text: string }
  | { readonly do: "stop-shell" }
  /** Keeps a sent message for later chats. */
  | { readonly do: "remember"; readonly text: string }
  | { readonly do: "complete"; readonly editor: Editor }
  /** The id of a delegation, or of a run for its root. */
  | { readonly do: "read-detail"; readonly id: string }
  | { readonly do: "answer"; readonly askId: string; readonly text: string }
  | { readonly do: "interrupt"; readonly how: Interrupt }
  | { readonly do: "list-sessions" }
  | { readonly do: "read-tree" }
  /** The conversation has shown these inbox items: they do not count as unread. */
  | { readonly do: "note-told"; readonly items: readonly number[] }
  /** Everything up to this item was seen. */
  | { readonly do: "mark-read"; readonly upTo: number }
  /** Opens a session; null: a new one. */
  | { readonly do: "open-session"; readonly id: string | null }
  /** A new session on an empty screen. */
  | { readonly do: "clear" }
  | { readonly do: "redraw" }
  /** Gives the terminal back to the shell for a while. */
  | { readonly do: "suspend" }
  /** `how`: what happens to background sub-agents. Absent: as their contracts say. */
  | { readonly do: "leave"; readonly how?: Departure };

/**
 * What happens to the children of an interrupted turn: all are cancelled; each does what its contract
 * says; they finish before the turn is cancelled; or everything continues in the background.
 */
export type Interrupt = "cancel" | "by-contract" | "after-children" | "background";

/**
 * What happens to background sub-agents when the person leaves: the chat waits for them, another
 * process takes over, or they are cancelled. Absent: as their contracts say.
 */
export type Departure = "wait" | "detach" | "cancel";

export interface Stepped {
  readonly state: ChatState;
  readonly effects: readonly ChatEffect[];
}

/** The state without effects. */
export function stay(state: ChatState): Stepped {
  return { state, effects: [] };
}
