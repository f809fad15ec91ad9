import type { NewEvent, StoredEvent } from "../events/event.ts";
import { genesis, link } from "../events/hash-chain.ts";
import { summarize } from "../events/summarize.ts";
import { upcast } from "../events/upcast.ts";
import type { StoredBatch } from "../ports/inspection.ts";
import { MandateError } from "../ports/mandate-error.ts";
import { messageOf } from "../ports/message-of.ts";
import { parseJson } from "../ports/parse-json.ts";
import type { Store } from "../ports/store.ts";

/** Stored events that cannot be read. */
export interface LostEvents {
  readonly type: "lost";
  readonly run_id: string;
  /** The number of the first. */
  readonly seq: number;
  readonly problem: string;
}

/**
 * The events of a run, with a `lost` in place of those that cannot be read. Later events are still read,
 * where the store has `inspect`. The checker, and not this function, detects changed events.
 */
export async function* readSurvivingEvents(
  store: Store,
  runId: string,
): AsyncGenerator<StoredEvent | LostEvents> {
  let last = 0;
  let problem: string;
  try {
    for await (const event of store.readEvents({ runId })) {
      last = event.seq;
      yield event;
    }
    return;
  } catch (error) {
    if (error instanceof MandateError && error.code === "closed") throw error;
    problem = messageOf(error);
  }
  const inspection = await store.inspect?.();
  if (inspection === undefined) {
    yield lost(runId, last + 1, `from event ${last + 1} on, the log cannot be read: ${problem}`);
    return;
  }
  try {
    let before = genesis(runId);
    for await (const batch of inspection.readBatches(runId)) {
      if (batch.firstSeq + batch.count - 1 > last) yield* eventsOf(batch, before, last);
      before = batch.hash;
    }
  } finally {
    await inspection.close();
  }
}

function* eventsOf(
  batch: StoredBatch,
  before: string,
  after: number,
): Generator<StoredEvent | LostEvents> {
  const { count, firstRunSeq, firstSeq, runId, text } = batch;
  let head = before;
  try {
    const rows = parseJson(text);
    if (!Array.isArray(rows)) throw new TypeError("it is no list");
    for (const [index, row] of rows.entries()) {
      head = link(head, JSON.stringify(row));
      const [storedType, subAgentId, at, stored, said] = row as readonly unknown[];
      const { payload, type } = upcast({ type: storedType, payload: stored } as NewEvent);
      const numbers = { seq: firstSeq + index, run_seq: firstRunSeq + index, run_id: runId };
      if (numbers.seq <= after) continue;
      const about = subAgentId === null ? {} : { sub_agent_id: subAgentId };
      const summary = said ?? summarize({ type, payload } as NewEvent);
      yield { ...numbers, ...about, type, at, summary, payload, hash: head } as StoredEvent;
    }
  } catch (error) {
    const which =
      count === 1 ? `event ${firstSeq}` : `events ${firstSeq} to ${firstSeq + count - 1}`;
    yield lost(runId, firstSeq, `${which} cannot be read: ${messageOf(error)}`);
  }
}

function lost(runId: string, seq: number, problem: string): LostEvents {
  return { type: "lost", run_id: runId, seq, problem };
}
