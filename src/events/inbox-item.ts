export const inboxKinds = [
  "ask",
  "approval",
  "answer",
  "finished",
  "review",
  "interjection",
  "plan",
  "run",
] as const;

export type InboxKind = (typeof inboxKinds)[number];

/** Something that a person should know, or has to decide. It follows from one event. */
export interface InboxItem {
  /** The sequence number of its event: items are in order, and ids are never used twice. */
  readonly id: number;
  readonly at: number;
  readonly runId: string;
  /** The delegation that it is about; absent: the whole run. */
  readonly delegationId?: string;
  readonly kind: InboxKind;
  readonly severity: "info" | "warn" | "critical";
  readonly title: string;
  /** One line of at most 240 characters, without control characters. */
  readonly text: string;
  /** Of asks and approvals: whether an answer would still count. */
  readonly isOpen?: boolean;
  readonly ask?: {
    readonly id: string;
    readonly deadlineAt: number;
    readonly default: string | null;
    /** The whole question while it is open. Not stored. */
    readonly question?: string;
  };
}
