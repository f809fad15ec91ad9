import type { StoredEvent } from "../../events/event.ts";
import { link } from "../../events/hash-chain.ts";
import { runIdOf } from "../../ports/identity.ts";

/** All that one transaction added to one run, as a row. The same in every store, to the letter. */
export interface BatchRow {
  readonly first_seq: number;
  readonly run: number;
  readonly first_run_seq: number;
  readonly count: number;
  readonly hash: string;
  readonly events: string;
}

type EventRow = [type: string, subAgentId: string | null, at: number, payload: unknown];

/** The events of a batch, with their hashes worked out from the hash that stood before it. */
export function eventsOf(row: BatchRow, before: string): StoredEvent[] {
  const runId = runIdOf(row.run);
  let head = before;
  return (JSON.parse(row.events) as EventRow[]).map((stored, index) => {
    head = link(head, JSON.stringify(stored));
    const [type, subAgentId, at, payload] = stored;
    return {
      seq: row.first_seq + index,
      run_seq: row.first_run_seq + index,
      run_id: runId,
      ...(subAgentId === null ? {} : { sub_agent_id: subAgentId }),
      type,
      at,
      payload,
      hash: head,
    } as StoredEvent;
  });
}

/** No batch holds more events, so that one delegation's history can be read in small pieces. */
export const maximumBatch = 32;
