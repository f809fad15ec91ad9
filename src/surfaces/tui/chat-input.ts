import type { Candidate } from "../../application/commands/complete-command.ts";
import type { StoredEvent } from "../../events/event.ts";
import type { SessionRow } from "../../sessions/session-row.ts";
import type { TreeRow } from "../cli/tree-rows.ts";
import type { AgentLine, ChatInbox, ChatSession, ChatState } from "./chat-state.ts";
import type { Entry } from "./entry.ts";
import type { Pressed } from "./keys/chord-of.ts";
import type { Turn } from "./turn.ts";

/** Everything that can happen to a chat: keys, and facts from around it. */
export type ChatInput =
  | Pressed
  | { readonly type: "resized"; readonly columns: number; readonly rows: number }
  /** The screen was wiped. */
  | { readonly type: "redrawn" }
  | { readonly type: "tick"; readonly now: number }
  | { readonly type: "closed" }
  /** Another session is before the person: what was said in it, and what the person said. */
  | {
      readonly type: "opened";
      readonly session: ChatSession;
      readonly entries: readonly Entry[];
      readonly said: readonly string[];
    }
  /** A run of this session began, or was taken up: `events` are those that it has so far. */
  | { readonly type: "began"; readonly turn: Turn; readonly events: readonly StoredEvent[] }
  | { readonly type: "event"; readonly event: StoredEvent }
  | { readonly type: "delta"; readonly delegationId: string; readonly text: string }
  /** The message could not be sent, or another process has the run now. */
  | { readonly type: "stopped"; readonly reason: string; readonly giveBack: string }
  | { readonly type: "entries"; readonly entries: readonly Entry[] }
  | { readonly type: "agents"; readonly agents: readonly AgentLine[] }
  | { readonly type: "tree"; readonly rows: readonly TreeRow[] }
  | { readonly type: "inbox"; readonly inbox: ChatInbox }
  | { readonly type: "sessions"; readonly rows: readonly SessionRow[] }
  | { readonly type: "candidates"; readonly of: string; readonly candidates: readonly Candidate[] }
  | { readonly type: "notice"; readonly notice: NonNullable<ChatState["notice"]> };

/** What a chat wants done. It happens elsewhere, and comes back as inputs. */
export type ChatEffect =
  /** To the session that is open, or to a new one. */
  | { readonly do: "send"; readonly text: string }
  | { readonly do: "command"; readonly text: string }
  | { readonly do: "complete"; readonly text: string }
  | { readonly do: "answer"; readonly askId: string; readonly text: string }
  | { readonly do: "interrupt"; readonly how: Interrupt }
  | { readonly do: "list-sessions" }
  | { readonly do: "read-tree" }
  /** The conversation has told these items of the inbox: they are no news. */
  | { readonly do: "note-told"; readonly items: readonly number[] }
  /** Everything up to this item was seen. */
  | { readonly do: "mark-read"; readonly upTo: number }
  /** Null: a new one. */
  | { readonly do: "open-session"; readonly id: string | null }
  | { readonly do: "redraw" }
  /** Gives the terminal back to the shell for a while. */
  | { readonly do: "suspend" }
  /** `how`: what becomes of sub-agents in the background. Absent: the person did not say. */
  | { readonly do: "leave"; readonly how?: Departure };

/**
 * What becomes of those who work for the turn: they all end with it; each does what its contract
 * says; they finish, and then it ends; or all of it goes on beside the conversation.
 */
export type Interrupt = "cancel" | "by-contract" | "after-children" | "background";

/**
 * What becomes of sub-agents in the background when the person leaves: the chat stays until they have
 * ended; another process works on them; or they are cancelled. Otherwise their contracts say.
 */
export type Departure = "wait" | "detach" | "cancel";

export interface Stepped {
  readonly state: ChatState;
  readonly effects: readonly ChatEffect[];
}
