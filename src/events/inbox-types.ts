import type { EventType } from "./event.ts";

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
