import type { ArtifactReference, StoredEvent } from "../events/event.ts";
import type { SessionBreadcrumb } from "./session.ts";

/** What one line of a session is, as people read it. */
export type SessionEntry =
  | { readonly kind: "person"; readonly at: number; readonly text: string }
  | {
      readonly kind: "agent";
      readonly at: number;
      readonly text: string;
      /** The model that answered, where the provider said so. */
      readonly model: string;
    }
  | CallEntry
  /** A sentence that came from outside: a watcher's, a server's, the runtime's own. */
  | {
      readonly kind: "remark";
      readonly at: number;
      readonly from: string;
      readonly severity: string;
      readonly text: string;
    }
  | {
      readonly kind: "question";
      readonly at: number;
      /** The call that asks; absent: the runtime asks whether something may be done. */
      readonly callId?: string;
      readonly text: string;
      /** Null while there is no answer, and when none came in time. */
      readonly answer: string | null;
    }
  | {
      readonly kind: "child";
      readonly at: number;
      /** The call that made it, with `/` and a key where it made several. */
      readonly callId?: string;
      readonly breadcrumb: SessionBreadcrumb;
    }
  /** What happened to the session: another attempt, a conversation that was shortened, an end. */
  | {
      readonly kind: "note";
      readonly at: number;
      readonly text: string;
      /** Of its end: how it ended. */
      readonly end?: "completed" | "failed";
    }
  /** Something stood here and cannot be read. */
  | { readonly kind: "lost"; readonly text: string };

export interface CallEntry {
  readonly kind: "call";
  readonly at: number;
  readonly callId: string;
  readonly tool: string;
  readonly input: unknown;
  readonly outcome: "open" | "done" | "failed" | "refused" | "unknown";
  readonly output: string;
  /** Where the whole of a long output is. */
  readonly artifact?: ArtifactReference;
}

/** What an event says about how a call ended; undefined: it says nothing about calls. */
export function callOutcome(
  event: StoredEvent,
): Pick<CallEntry, "callId" | "outcome" | "output" | "artifact"> | undefined {
  switch (event.type) {
    case "agent.tool_completed": {
      const { artifact, call_id: callId, is_error: isError, output } = event.payload;
      const outcome = isError ? "failed" : "done";
      return { callId, outcome, output, ...(artifact && { artifact }) };
    }
    case "agent.tool_failed":
      return { callId: event.payload.call_id, outcome: "failed", output: event.payload.error };
    case "agent.tool_denied":
      return { callId: event.payload.call_id, outcome: "refused", output: event.payload.error };
    case "agent.tool_outcome_unknown":
      return { callId: event.payload.call_id, outcome: "unknown", output: event.payload.error };
    default:
      return undefined;
  }
}
