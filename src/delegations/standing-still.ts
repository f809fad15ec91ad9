import { type Delegation, openAskOf } from "../events/delegation.ts";
import type { EventPayloads, NewEvent } from "../events/event.ts";

/** Calls that have begun and have no outcome, by their ids. */
export type OpenCalls = ReadonlyMap<string, EventPayloads["agent.tool_started"]>;

export type MutableCalls = Map<string, EventPayloads["agent.tool_started"]>;

export function followCalls(calls: MutableCalls, { payload, type }: NewEvent): void {
  if (type === "agent.tool_started") calls.set(payload.call_id, payload);
  else if (
    type === "agent.tool_completed" ||
    type === "agent.tool_failed" ||
    type === "agent.tool_outcome_unknown"
  ) {
    calls.delete(payload.call_id);
  }
}

/**
 * Whether a delegation only waits for a person: it has a question open, or does nothing itself and
 * waits for others of whom `below` stand still. Its deadlines stand still as long. Pure, and asked
 * in the same way of a living delegation and of one that the log tells of.
 */
export function standsStill(state: Delegation, openCalls: OpenCalls, below: number): boolean {
  if (openAskOf(state) !== null) return true;
  if (below === 0) return false;
  // It has answered, and waits for its background children.
  if (state.status === "waiting_for_merge") return true;
  if (state.status !== "running" || state.reservation !== null || openCalls.size === 0) {
    return false;
  }
  for (const { joins } of openCalls.values()) if (!joins) return false;
  return true;
}
