import { inRun, insert, type SeededBug } from "./seeded-bug.test-support.ts";

const late = {
  type: "agent.message_sent",
  payload: { message_id: "m", from: "person", message: "too late" },
} as const;

/** Messages that came too late to be read: nothing that was promised is broken by that. */
export const soundMessages: readonly Pick<SeededBug, "title" | "change">[] = [
  inRun("rich", "one that comes just before the output is handed in", "I10", (events, find) =>
    insert(events, find("agent.subagent_waiting_for_merge", "asker"), late),
  ),
  inRun("rich", "one that comes just before a failure", "I10", (events, find) =>
    insert(events, find("agent.subagent_failed", "failing"), late),
  ),
  inRun("rich", "one that comes before it has begun", "I10", (events, find) =>
    insert(events, find("agent.subagent_started", "asker"), late),
  ),
];
