import type { StoredEvent } from "../../../src/events/event.ts";

/** What people want to see of a delegation beside its state. */
export interface DelegationNotes {
  /** The model that was asked for last, and those that answered. */
  requested: string | null;
  readonly served: string[];
  /** How many attempts the delegation has in all. */
  attempts: number;
  refusals: number;
  /** How often the delegation was resumed after an interruption. */
  resumptions: number;
}

export const noNotes: Readonly<DelegationNotes> = {
  requested: null,
  served: [],
  attempts: 1,
  refusals: 0,
  resumptions: 0,
};

export function noteEvent(all: Map<string, DelegationNotes>, event: StoredEvent): void {
  const { sub_agent_id: id } = event;
  if (id === undefined) return;
  let notes = all.get(id);
  if (notes === undefined) {
    notes = { ...noNotes, served: [] };
    all.set(id, notes);
  }
  switch (event.type) {
    case "agent.model_turn": {
      const { requested, served } = event.payload;
      notes.requested = requested;
      if (served !== null && !notes.served.includes(served)) notes.served.push(served);
      break;
    }
    case "agent.subagent_attempt":
      notes.attempts = event.payload.of;
      break;
    case "agent.tool_denied":
      notes.refusals += 1;
      break;
    case "agent.resumed":
      notes.resumptions += 1;
      break;
  }
}
