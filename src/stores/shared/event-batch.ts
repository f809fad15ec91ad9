import type { NewEvent, StoredEvent } from "../../events/event.ts";
import { link } from "../../events/hash-chain.ts";
import { summarize } from "../../events/summarize.ts";
import { upcast } from "../../events/upcast.ts";
import { runIdOf } from "../../ports/identity.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { parseJson } from "../../ports/parse-json.ts";

/** The events that one transaction added to one run, as a row. Identical in every store. */
export interface BatchRow {
  readonly first_seq: number;
  readonly run: number;
  readonly first_run_seq: number;
  readonly count: number;
  readonly hash: string;
  readonly events: string;
}

/** Events of earlier versions have no stored summary. */
type EventRow = [
  type: string,
  subAgentId: string | null,
  at: number,
  payload: unknown,
  summary?: string,
];

/** The events of a batch. Their hashes are computed from the hash of the event before the batch. */
export function eventsOf(row: BatchRow, before: string): StoredEvent[] {
  const runId = runIdOf(row.run);
  let head = before;
  return readRows(row, runId).map((stored, index) => {
    head = link(head, JSON.stringify(stored));
    const [, subAgentId, at, , summary] = stored;
    const { payload, type } = upcast({ type: stored[0], payload: stored[3] } as NewEvent);
    return {
      seq: row.first_seq + index,
      run_seq: row.first_run_seq + index,
      run_id: runId,
      ...(subAgentId === null ? {} : { sub_agent_id: subAgentId }),
      type,
      at,
      summary: summary ?? summarize({ type, payload } as NewEvent),
      payload,
      hash: head,
    } as StoredEvent;
  });
}

/** Refuses content that is not a list of events: interpreting it would invent events. */
export function readRows({ events, first_seq }: BatchRow, runId: string): readonly EventRow[] {
  let cause: unknown;
  try {
    const rows = parseJson(events);
    if (Array.isArray(rows) && rows.every(isRow)) return rows;
  } catch (error) {
    cause = error;
  }
  throw new MandateError(
    "database-unusable",
    `The events of run ${runId} cannot be read from sequence number ${first_seq} on: the database was modified. Run \`mandate verify\` to find what else is damaged, and restore the database from a backup.`,
    { cause },
  );
}

function isRow(row: unknown): row is EventRow {
  if (!Array.isArray(row)) return false;
  const [type, , at, payload, summary] = row as unknown[];
  const isSummary = summary === undefined || typeof summary === "string";
  return typeof type === "string" && typeof at === "number" && isObject(payload) && isSummary;
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

/**
 * The most events in one batch, so that the history of one delegation can be read in small pieces.
 */
export const maximumBatch = 32;
