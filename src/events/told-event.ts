import type { StoredEvent } from "./event.ts";

/** An event as every surface gives it to programs: all of it, with its line for people. */
export type ToldEvent = StoredEvent;

export function tellEvent(event: StoredEvent): ToldEvent {
  const { seq, run_seq, run_id, sub_agent_id, type, at, summary, payload, hash } = event;
  // In the order in which people read them; what a store adds for itself is left out.
  return {
    seq,
    run_seq,
    run_id,
    ...(sub_agent_id !== undefined && { sub_agent_id }),
    type,
    at,
    summary,
    payload,
    hash,
  } as ToldEvent;
}
