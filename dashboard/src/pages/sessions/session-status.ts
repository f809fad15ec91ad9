import type { Operations } from "../../../../src/surfaces/client/mandate-client.ts";
import type { ShownState } from "../../components/state-badge.tsx";

export type SessionRow = Operations["listSessions"]["reply"]["items"][number];

const shown: Readonly<Record<SessionRow["status"], ShownState>> = {
  created: "queued",
  running: "running",
  waiting_for_merge: "merging",
  completed: "succeeded",
  failed: "failed",
  timeout: "timed-out",
  cancelled: "cancelled",
  interrupted: "interrupted",
  unreadable: "failed",
};

/** `isAsking`: an agent of its run waits for an answer. */
export function shownSession(status: SessionRow["status"], isAsking = false): ShownState {
  return isAsking && !isOver(status) && status !== "interrupted" ? "asking" : shown[status];
}

/** A session can be continued once its run has ended. */
export function isOver(status: SessionRow["status"]): boolean {
  return ["completed", "failed", "timeout", "cancelled"].includes(status);
}

const endings = { markdown: "md", jsonl: "jsonl" } as const;

/** A name for a file out of a title of anybody: nothing in it means anything to a file system. */
export function exportName(title: string, sessionId: string, format: keyof typeof endings): string {
  const words = title
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, 40)
    .replaceAll(/^-+|-+$/g, "");
  return `${words === "" ? "session" : words}-${sessionId}.${endings[format]}`;
}
