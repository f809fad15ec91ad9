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

/** Something that a person should know or decide. Each item is derived from one event. */
export interface InboxItem {
  /** The sequence number of its event. */
  readonly id: number;
  readonly at: number;
  readonly runId: string;
  /** The delegation; absent: the item is about the whole run. */
  readonly delegationId?: string;
  readonly kind: InboxKind;
  readonly severity: "info" | "warn" | "critical";
  readonly title: string;
  /** One line of at most 240 characters, without control characters. */
  readonly text: string;
  /** Only of asks and approvals: whether they can still be answered. */
  readonly isOpen?: boolean;
  readonly ask?: {
    readonly id: string;
    readonly deadlineAt: number;
    readonly default: string | null;
    /** The whole question, while it is open. Not stored. */
    readonly question?: string;
  };
}

/** Events that can become an item. */
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

/** Further events that can close an ask. */
const ending: ReadonlySet<EventType> = new Set<EventType>([
  "agent.tool_completed",
  "agent.subagent_waiting_for_merge",
  "agent.subagent_completed",
  "agent.subagent_failed",
]);

/** Whether an event of this type can become an item. */
export function isInboxType(type: EventType): boolean {
  return told.has(type);
}

export function touchesInbox(type: EventType): boolean {
  return told.has(type) || ending.has(type);
}
