import type { StoredEvent } from "../../../../../src/events/event.ts";

/** The events that begin the next turn, or the end of all turns. */
const begins: ReadonlySet<StoredEvent["type"]> = new Set<StoredEvent["type"]>([
  "agent.budget_reserved",
  "agent.model_turn",
  "agent.subagent_waiting_for_merge",
  "agent.subagent_failed",
]);

/**
 * For each moment at which an agent said something in its run: up to which event a fork from there
 * shares the run's history. That is its turn with what its calls came to, and nothing of the next.
 */
export function forkPlaces(events: readonly StoredEvent[]): ReadonlyMap<number, number> {
  const places = new Map<number, number>();
  let said: number | undefined;
  for (const { at, run_seq: place, type } of events) {
    if (begins.has(type)) said = undefined;
    if (type === "agent.model_turn") said = at;
    if (said !== undefined) places.set(said, place);
  }
  return places;
}
