import type { StoredEvent } from "../../events/event.ts";
import type { RecordedStop } from "./recorded-stops.ts";

/**
 * The last result of a turn is followed by a reservation at once, or by waiting for a slot first.
 * In a replay nobody waits for slots, and what can be reserved depends on what others have reserved
 * by then: such a result is let in just before its reservation stands in the log, and one that was
 * followed by a stop just before that. Nothing else can depend on it. By `seq`, until which `seq`.
 */
export function heldResults(
  events: readonly StoredEvent[],
  stops: readonly RecordedStop[],
): ReadonlyMap<number, number> {
  const stopOf = new Map(stops.map((stop) => [stop.delegationId, stop]));
  const held = new Map<number, number>();
  for (const [id, own] of Map.groupBy(events, ({ sub_agent_id: id = "" }) => id)) {
    const stop = stopOf.get(id);
    for (const [index, { seq, type }] of own.entries()) {
      if (type !== "agent.tool_completed" && type !== "agent.tool_failed") continue;
      const next = own[index + 1];
      if (stop?.after === index + 1) held.set(seq, Math.max(seq, stop.seq));
      else if (next !== undefined && reserving.has(next.type)) held.set(seq, next.seq);
    }
  }
  return held;
}

const reserving: ReadonlySet<string> = new Set(["agent.budget_reserved", "agent.paused"]);
