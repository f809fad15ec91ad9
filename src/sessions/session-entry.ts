import type { ArtifactReference } from "../events/event.ts";
import type { SessionBreadcrumb } from "./session.ts";

/** One entry of a session. */
export type SessionEntry =
  | { readonly kind: "person"; readonly at: number; readonly text: string }
  | {
      readonly kind: "agent";
      readonly at: number;
      readonly text: string;
      /** The model that answered, or the requested one; of an agent program, its name. */
      readonly model: string;
    }
  | CallEntry
  /** A text from a watcher, a server, the runtime or a sender of messages. */
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
      /** The call that asks; absent: an approval. */
      readonly callId?: string;
      readonly text: string;
      /** Null: no answer, or none in time. */
      readonly answer: string | null;
    }
  | {
      readonly kind: "child";
      readonly at: number;
      /** The call that created it, with `/` and a key where it created several. */
      readonly callId?: string;
      readonly breadcrumb: SessionBreadcrumb;
    }
  /** A new attempt, a shortened conversation, the end, and the like. */
  | {
      readonly kind: "note";
      readonly at: number;
      readonly text: string;
      /** Only of the end: the final status. */
      readonly end?: "completed" | "failed";
    }
  /** An entry for something that cannot be read. */
  | { readonly kind: "lost"; readonly text: string };

export interface CallEntry {
  readonly kind: "call";
  readonly at: number;
  readonly callId: string;
  readonly tool: string;
  /** What an agent program did by itself, in its words; `tool` is then the kind of that. */
  readonly title?: string;
  readonly input: unknown;
  readonly outcome: "open" | "done" | "failed" | "refused" | "unknown";
  readonly output: string;
  /** The whole of a long output. */
  readonly artifact?: ArtifactReference;
}
