/** Tells which workers claimed which delegations of a run, and when. */
import type { StoredEvent } from "../../events/event.ts";
import type { ProcessFleet } from "../../testing/process-fleet.test-support.ts";

export interface Claim {
  readonly worker: string;
  /** The delegation. */
  readonly of: string;
  readonly at: number;
}

export async function eventsOf({ client }: ProcessFleet, runId: string): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  for await (const event of client.store.readEvents({ runId })) events.push(event);
  return events;
}

export function claimsOf(events: readonly StoredEvent[]): readonly Claim[] {
  return events.flatMap((event) =>
    event.type === "agent.claimed"
      ? [{ worker: event.payload.worker, of: event.sub_agent_id ?? "", at: event.at }]
      : [],
  );
}
