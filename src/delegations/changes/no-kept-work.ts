import { MandateError } from "../../ports/mandate-error.ts";

/** Why a delegation has nothing that could be shown, merged or discarded. */
export type NoWorkReason =
  | "read-only"
  | "in-place"
  | "not-started"
  | "unchanged"
  | "merged"
  | "discarded"
  | "lost";

const sentences: Record<NoWorkReason, string> = {
  "read-only": "could not write: its contract lets it change nothing.",
  "in-place":
    "worked in its caller's folder and had no copy of its own. What it changed is there already; the evidence of its result names the files.",
  "not-started": "has no working copy yet. Ask again when it has started.",
  unchanged: "left no changes behind.",
  merged: "has no working copy any more: its changes were merged.",
  discarded: "has no working copy any more: it was discarded.",
  lost: "has no working copy any more, and the diff in the log cannot be read: its file among the artifacts is gone.",
};

/** Thrown where a delegation has no work of its own that is kept anywhere. */
export class NoKeptWork extends MandateError {
  readonly delegationId: string;
  readonly reason: NoWorkReason;

  constructor(delegationId: string, reason: NoWorkReason) {
    super("no-kept-work", `Delegation ${delegationId} ${sentences[reason]}`);
    this.name = "NoKeptWork";
    this.delegationId = delegationId;
    this.reason = reason;
  }
}
