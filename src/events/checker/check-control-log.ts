import type { Inspection, StoredRecord } from "../../ports/inspection.ts";
import { memoryMarks } from "../../ports/memory-store.ts";
import type { Store } from "../../ports/store.ts";
import { isControlEvent } from "../control-event.ts";
import type { StoredEvent } from "../event.ts";
import { genesis } from "../hash-chain.ts";
import { PrunedRuns } from "../pruned-runs.ts";
import { verifiedEvents } from "./check-chain.ts";
import { checkReceipt } from "./check-pruned.ts";
import { RecordsCheck } from "./check-records.ts";
import type { CheckReport, Report } from "./check-report.ts";

/**
 * The control log: a chain like every run's (I1), with nothing in it but its own events (I4), and
 * the records are what they say (I7). Tells which runs were pruned.
 */
export async function checkControlLog(
  store: Store,
  inspection: Inspection,
  runId: string,
  report: Report,
  acknowledged: readonly Pick<StoredEvent, "seq" | "hash">[] = [],
): Promise<Pick<CheckReport, "events" | "delegations"> & { readonly pruned: PrunedRuns }> {
  const pruned = new PrunedRuns();
  const records = new RecordsCheck(report);
  const missing = new Map(acknowledged.map(({ seq, hash }) => [seq, hash]));
  let events = 0;
  let head = genesis(runId);
  const stored = verifiedEvents(runId, inspection.readBatches(runId), report);
  let next = await stored.next();
  for (; !next.done; next = await stored.next()) {
    const event = next.value;
    events++;
    head = event.hash;
    if (missing.get(event.seq) === event.hash) missing.delete(event.seq);
    if (!isControlEvent(event.type) || event.sub_agent_id !== undefined) {
      const message = `${event.type} does not belong into the control log.`;
      report("I4", message, { seq: event.seq });
    } else if (event.type === "control.record_changed") records.see(event);
    else if (event.type === "control.pruned") {
      checkReceipt(event, pruned, report);
      pruned.add(event);
    }
  }
  if (next.value) {
    for await (const record of inspection.records()) {
      await records.compare(record, store);
      await checkMark(record, inspection, report);
    }
    records.end();
    for (const seq of missing.keys()) {
      report("I8", "It was acknowledged, and is not in the log as it was.", { seq });
    }
    await checkReading(store, runId, { events, head }, report);
  }
  const { run, delegations, asks } = await inspection.readRows(runId);
  if (run !== undefined || delegations.length + asks.length > 0) {
    report("I7", "The control log is stored as if it were a run.");
  }
  return { events, delegations: 0, pruned };
}

/** I7: what people decided of a memory is about one that is there: none is ever taken out. */
async function checkMark(
  { now, resourceId, resourceType }: StoredRecord,
  inspection: Inspection,
  report: Report,
): Promise<void> {
  const isMark = Object.values<string>(memoryMarks).includes(resourceType);
  if (!isMark || now === null || (await inspection.hasMemory(resourceId))) return;
  report("I7", `${resourceType}/${resourceId}: there is no such memory.`);
}

/** I15: who reads the control log reads all of it. What came since the rows were read is news. */
async function checkReading(
  store: Store,
  runId: string,
  log: { readonly events: number; readonly head: string },
  report: Report,
): Promise<void> {
  let told = genesis(runId);
  let count = 0;
  for await (const { hash } of store.readEvents({ runId })) {
    if (++count > log.events) break;
    told = hash;
  }
  if (told !== log.head) report("I15", "The store tells another history of the control log.");
}
