import type { StoredBatch } from "../../ports/inspection.ts";
import { parseJson } from "../../ports/parse-json.ts";
import type { NewEvent, StoredEvent } from "../event.ts";
import { genesis, link } from "../hash-chain.ts";
import { summarize } from "../summarize.ts";
import { upcast } from "../upcast.ts";
import type { Report } from "./check-report.ts";

/**
 * I1, of one run: its events as the stored text tells them, as long as numbers and hashes agree.
 * They end at the first that does not: what follows from a broken log proves nothing.
 */
export async function* verifiedEvents(
  runId: string,
  batches: AsyncIterable<StoredBatch>,
  report: Report,
): AsyncGenerator<StoredEvent, boolean> {
  let head = genesis(runId);
  let lastSeq = 0;
  let lastRunSeq = 0;
  for await (const batch of batches) {
    const broken = (what: string): false => {
      report("I1", what, { seq: batch.firstSeq });
      return false;
    };
    if (batch.firstSeq <= lastSeq) return broken("Its sequence number was given before.");
    if (batch.firstRunSeq !== lastRunSeq + 1) {
      return broken(`Event ${lastRunSeq + 1} of the run is followed by ${batch.firstRunSeq}.`);
    }
    const rows = parse(batch.text);
    if (rows === undefined) return broken("The stored text is not a list of events.");
    if (rows.length !== batch.count) {
      return broken(`${batch.count} events are counted where ${rows.length} are stored.`);
    }
    const texts = rows.map((row) => JSON.stringify(row));
    if (`[${texts.join(",")}]` !== batch.text) {
      return broken("The stored text is not as it was written.");
    }
    const hashes = texts.map((text) => {
      head = link(head, text);
      return head;
    });
    if (head !== batch.hash) {
      return broken("The hash chain breaks: an event before this hash was changed, or the hash.");
    }
    for (const [index, row] of rows.entries()) {
      yield toEvent(runId, batch, index, row, hashes[index] ?? "");
    }
    lastSeq = batch.firstSeq + batch.count - 1;
    lastRunSeq = batch.firstRunSeq + batch.count - 1;
  }
  return true;
}

type Row = readonly [
  type: string,
  subAgentId: string | null,
  at: number,
  payload: object,
  summary?: string,
];

function parse(text: string): readonly Row[] | undefined {
  let rows: unknown;
  try {
    rows = parseJson(text);
  } catch {
    return undefined;
  }
  return Array.isArray(rows) && rows.every(isRow) ? rows : undefined;
}

function isRow(row: unknown): row is Row {
  // Events of earlier versions have no line of their own.
  if (!Array.isArray(row) || row.length < 4 || row.length > 5) return false;
  const [type, subAgentId, at, payload, summary] = row as unknown[];
  if (row.length === 5 && typeof summary !== "string") return false;
  const isIdOrNull = subAgentId === null || typeof subAgentId === "string";
  const isObject = typeof payload === "object" && payload !== null;
  return typeof type === "string" && isIdOrNull && typeof at === "number" && isObject;
}

function toEvent(
  runId: string,
  batch: StoredBatch,
  index: number,
  [storedType, subAgentId, at, stored, summary]: Row,
  hash: string,
): StoredEvent {
  const { payload, type } = upcast({ type: storedType, payload: stored } as NewEvent);
  return {
    seq: batch.firstSeq + index,
    run_seq: batch.firstRunSeq + index,
    run_id: runId,
    ...(subAgentId === null ? {} : { sub_agent_id: subAgentId }),
    type,
    at,
    summary: summary ?? summarize({ type, payload } as NewEvent),
    payload,
    hash,
  } as StoredEvent;
}
