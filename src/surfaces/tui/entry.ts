import { callSubject, patchOfCall } from "../../sessions/describe-call.ts";
import type { AgentSession } from "../../sessions/read-session.ts";
import type { SessionEntry } from "../../sessions/session-entry.ts";
import type { Progress } from "../cli/markdown/stream-markdown.ts";
import { printableLine } from "../cli/printable.ts";

/** One entry of a conversation, drawn once. Texts are raw. */
export type Entry =
  | { readonly kind: "person"; readonly text: string }
  | {
      readonly kind: "agent";
      readonly who: string;
      readonly text: string;
      /** The text continues one that was drawn up to there. */
      readonly from?: Progress;
    }
  /** A tool call, or a child, in a line. */
  | {
      readonly kind: "line";
      readonly mark: EntryMark;
      readonly who: string;
      readonly text: string;
      /** A second line. */
      readonly detail?: string;
      /** What an edit changed. */
      readonly patch?: string;
    }
  | {
      readonly kind: "question";
      readonly who: string;
      readonly text: string;
      /** Null: not answered. */
      readonly answer: string | null;
    }
  | {
      readonly kind: "remark";
      readonly from: string;
      readonly severity: string;
      readonly text: string;
    }
  | {
      readonly kind: "reply";
      readonly command: string;
      readonly ok: boolean;
      readonly text: string;
    }
  /** Text of Mandate itself, with indented lines below its headings. */
  | { readonly kind: "page"; readonly text: string }
  | { readonly kind: "patch"; readonly text: string }
  /** The output of a command that the person ran. */
  | {
      readonly kind: "output";
      readonly command: string;
      readonly text: string;
      readonly code: number | null;
    }
  | { readonly kind: "note"; readonly tone: NoteTone; readonly text: string }
  | { readonly kind: "rule"; readonly text: string };

export type EntryMark = "done" | "failed" | "refused" | "stopped" | "unknown";
export type NoteTone = "plain" | "warn" | "bad";

/** A long conversation is shown by its last entries. */
const mostEntries = 60;

/** The entries of a stored session. Open calls and children are drawn when they end. */
export function entriesOfSession(session: AgentSession, program: string): readonly Entry[] {
  const who = session.context?.agentId ?? "agent";
  const shownOtherwise = callsShownOtherwise(session.entries);
  const all = [
    ...session.problems.map((text): Entry => ({ kind: "note", tone: "bad", text })),
    ...session.entries.flatMap((entry) => entryOf(entry, who, shownOtherwise)),
  ];
  const left = all.length - mostEntries;
  const missing: Entry = {
    kind: "note",
    tone: "plain",
    text: `${left} earlier entries: ${program} sessions show ${session.sessionId}`,
  };
  return left > 0 ? [missing, ...all.slice(left)] : all;
}

const marks: Readonly<Record<string, EntryMark>> = {
  done: "done",
  failed: "failed",
  refused: "refused",
  unknown: "unknown",
};

/** Calls whose question, or whose child, has an entry of its own. */
function callsShownOtherwise(entries: readonly SessionEntry[]): ReadonlySet<string> {
  const shown = new Set<string>();
  for (const entry of entries) {
    if ((entry.kind !== "child" && entry.kind !== "question") || !entry.callId) continue;
    shown.add(entry.callId);
    // A call with several children appends a key for each to its call id.
    shown.add(entry.callId.slice(0, Math.max(0, entry.callId.lastIndexOf("/"))));
  }
  return shown;
}

function entryOf(
  entry: SessionEntry,
  who: string,
  shownOtherwise: ReadonlySet<string>,
): readonly Entry[] {
  switch (entry.kind) {
    case "person":
      return [{ kind: "person", text: entry.text }];
    case "agent":
      return entry.text.trim() === "" ? [] : [{ kind: "agent", who, text: entry.text }];
    case "call": {
      const mark = marks[entry.outcome];
      if (mark === undefined || (mark === "done" && shownOtherwise.has(entry.callId))) return [];
      const more = mark === "done" ? patchOf(entry.input, entry.output) : { detail: entry.output };
      return [
        {
          kind: "line",
          mark,
          who: entry.tool,
          text: printableLine(entry.title ?? callSubject(entry.input)),
          ...more,
        },
      ];
    }
    case "remark":
      return [{ kind: "remark", from: entry.from, severity: entry.severity, text: entry.text }];
    case "question":
      return [{ kind: "question", who, text: entry.text, answer: entry.answer }];
    case "child": {
      const { closeReason, delegationId, profile, status, summary } = entry.breadcrumb;
      if (closeReason === null) return [];
      const mark = status === "completed" ? "done" : status === "cancelled" ? "stopped" : "failed";
      return [
        { kind: "line", mark, who: `${profile}#${delegationId}`, text: status, detail: summary },
      ];
    }
    case "note":
      // The answer itself shows that the run completed.
      if (entry.end === "completed") return [];
      return [{ kind: "note", tone: "plain", text: entry.text }];
    case "lost":
      return [{ kind: "note", tone: "bad", text: `Something is missing here: ${entry.text}` }];
    default:
      return entry satisfies never;
  }
}

/** The diff in the output of an edit; of a file that was written whole, its lines. */
export function patchOf(input: unknown, output: string): { readonly patch?: string } {
  const at = output.search(/^--- .*\n\+\+\+ /m);
  if (at >= 0) return { patch: output.slice(at) };
  const patch = patchOfCall(input);
  // The line of the call has the path.
  return patch === undefined ? {} : { patch: patch.slice(patch.indexOf("\n") + 1) };
}
