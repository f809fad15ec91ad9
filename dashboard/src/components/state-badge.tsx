import type { CloseReason } from "../../../src/events/close-reason.ts";
import type { Delegation } from "../../../src/events/delegation.ts";

/** What people distinguish. Each has a shape and a colour of its own, and a word. */
export type ShownState =
  | "queued"
  | "running"
  | "waiting"
  | "asking"
  | "merging"
  | "interrupted"
  | "succeeded"
  | "replayed"
  | "failed"
  | "cancelled"
  | "timed-out";

const looks: Readonly<Record<ShownState, { readonly tone: string; readonly word: string }>> = {
  queued: { tone: "text-soft", word: "Queued" },
  running: { tone: "text-busy", word: "Running" },
  waiting: { tone: "text-busy", word: "Waiting" },
  asking: { tone: "text-warn", word: "Asks you" },
  merging: { tone: "text-busy", word: "Handing in" },
  interrupted: { tone: "text-warn", word: "Interrupted" },
  succeeded: { tone: "text-good", word: "Done" },
  replayed: { tone: "text-good", word: "Replayed" },
  failed: { tone: "text-bad", word: "Failed" },
  cancelled: { tone: "text-soft", word: "Cancelled" },
  "timed-out": { tone: "text-warn", word: "Timed out" },
};

interface StateBadgeProps {
  readonly state: ShownState;
  /** In place of the usual word. */
  readonly word?: string;
  /** The shape alone; the word is for those who cannot see it. */
  readonly isShort?: boolean;
}

export function StateBadge({ state, word = looks[state].word, isShort = false }: StateBadgeProps) {
  return (
    <span
      className={`inline-flex max-w-full min-w-0 items-center gap-1.5 align-middle ${looks[state].tone}`}
      title={word}
    >
      <svg
        viewBox="0 0 16 16"
        className="size-4 shrink-0"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.75"
        strokeLinecap="round"
        strokeLinejoin="round"
        aria-hidden="true"
      >
        {shapeOf(state)}
      </svg>
      <span className={isShort ? "sr-only" : "truncate"}>{word}</span>
    </span>
  );
}

function shapeOf(state: ShownState) {
  switch (state) {
    case "queued":
      return <circle cx="8" cy="8" r="5.5" strokeDasharray="2 2.6" />;
    case "running":
      return (
        <>
          <circle cx="8" cy="8" r="5.5" opacity="0.3" />
          <path className="turning" d="M8 2.5a5.5 5.5 0 0 1 5.5 5.5" />
        </>
      );
    case "waiting":
      return (
        <>
          <circle cx="8" cy="8" r="5.5" />
          <path d="M6.5 6v4M9.5 6v4" />
        </>
      );
    case "asking":
      return (
        <>
          <path d="M8 1.8 14.4 13.4H1.6Z" />
          <path d="M8 6.4v3M8 11.4v.1" />
        </>
      );
    case "merging":
      return <path d="M2.5 8h8M7.5 4.5 11 8l-3.5 3.5M13.5 3.5v9" />;
    case "interrupted":
      return <path d="M9 1.8 4 9h4l-1 5.2L12 7H8Z" />;
    case "succeeded":
      return (
        <>
          <circle cx="8" cy="8" r="6.4" fill="currentColor" stroke="none" />
          <path d="m5.2 8.2 2 2 3.6-4" stroke="var(--panel)" />
        </>
      );
    case "replayed":
      return (
        <>
          <path d="M3.2 5.2A5.5 5.5 0 1 1 2.5 8M2.8 2.4v3.1h3.1" />
          <path d="m5.6 8.2 1.7 1.7 3-3.4" />
        </>
      );
    case "failed":
      return (
        <>
          <rect x="2" y="2" width="12" height="12" rx="2.5" fill="currentColor" stroke="none" />
          <path d="m5.6 5.6 4.8 4.8M10.4 5.6l-4.8 4.8" stroke="var(--panel)" />
        </>
      );
    case "cancelled":
      return (
        <>
          <circle cx="8" cy="8" r="5.5" />
          <path d="m4.2 4.2 7.6 7.6" />
        </>
      );
    case "timed-out":
      return (
        <>
          <circle cx="8" cy="8" r="5.5" />
          <path d="M8 4.8V8l2.2 1.6" />
        </>
      );
    default:
      return state satisfies never;
  }
}

interface EndOfRun {
  readonly state: "running" | "interrupted" | "succeeded" | "failed" | "cancelled";
  readonly closeReason: CloseReason | null;
}

/** The state of a run, as the API gives it; `isAsking`: an agent of the run waits for an answer. */
export function shownRunState({ closeReason, state }: EndOfRun, isAsking = false): ShownState {
  if (state === "running" && isAsking) return "asking";
  return state === "failed" ? shownEnd(closeReason) : state;
}

/** Who was stopped has not failed, and who had no more time did not break. */
function shownEnd(reason: CloseReason | null): ShownState {
  if (reason === "cancelled" || reason === "parent_closed") return "cancelled";
  return reason === "timeout" ? "timed-out" : "failed";
}

export function shownState(delegation: Delegation, isInterrupted: boolean): ShownState {
  if (delegation.status === "closed") {
    return delegation.finalStatus === "completed" ? "succeeded" : shownEnd(delegation.closeReason);
  }
  if (isInterrupted) return "interrupted";
  switch (delegation.status) {
    case "created":
      return "queued";
    case "running":
      if (delegation.ask !== null) return "asking";
      return delegation.waitingOn.on === "child" || delegation.waitingOn.on === "slot"
        ? "waiting"
        : "running";
    case "waiting_for_merge":
      return delegation.ask === null ? "merging" : "asking";
    case "completed":
    case "failed":
      return "merging";
    default:
      return delegation satisfies never;
  }
}
