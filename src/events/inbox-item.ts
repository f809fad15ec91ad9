import type { EventType } from "./event.ts";

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

/** What can become an item. */
const told: ReadonlySet<EventType> = new Set<EventType>([
  "agent.asked",
  "agent.answered",
  "agent.subagent_closed",
  "agent.message_sent",
  "agent.interjected",
  "run.started",
  "run.planned",
  "run.finished",
]);

/** What else can end an ask. */
const ending: ReadonlySet<EventType> = new Set<EventType>([
  "agent.tool_completed",
  "agent.subagent_waiting_for_merge",
  "agent.subagent_completed",
  "agent.subagent_failed",
]);

/** Whether an event of this type can be news; all others cost nothing. */
export function isInboxType(type: EventType): boolean {
  return told.has(type);
}

export function touchesInbox(type: EventType): boolean {
  return told.has(type) || ending.has(type);
}
