import type { Inspection, StoredRecord } from "../../ports/inspection.ts";
import { memoryMarks } from "../../ports/memory-store.ts";
import type { Store } from "../../ports/store.ts";
import { isControlEvent } from "../control-event.ts";
import { genesis } from "../hash-chain.ts";
import { PrunedRuns } from "../pruned-runs.ts";
import { verifiedEvents } from "./check-chain.ts";
import { type ExpectedEvent, HeadsCheck } from "./check-heads.ts";
import { checkNoted, checkReceipt, notedPrunings } from "./check-pruned.ts";
import { RecordsCheck } from "./check-records.ts";
import type { CheckedLog, Report } from "./check-report.ts";

/**
 * The control log: a chain like every run's (I1), with nothing in it but its own events (I4), and
 * the records are what they say (I7). Tells which runs were pruned.
 */
export async function checkControlLog(
  store: Store,
  inspection: Inspection,
  runId: string,
  report: Report,
  expected: readonly ExpectedEvent[],
): Promise<CheckedLog & { readonly pruned: PrunedRuns }> {
  const pruned = new PrunedRuns();
  const records = new RecordsCheck(report);
  const heads = new HeadsCheck(expected);
  const noted = inspection.heads && notedPrunings(inspection.heads);
  let events = 0;
  let end = { seq: 0, hash: genesis(runId) };
  const stored = verifiedEvents(runId, inspection.readBatches(runId), report);
  let next = await stored.next();
  for (; !next.done; next = await stored.next()) {
    const event = next.value;
    events++;
    end = { seq: event.seq, hash: event.hash };
    heads.see(event);
    if (!isControlEvent(event.type) || event.sub_agent_id !== undefined) {
      const message = `${event.type} does not belong into the control log.`;
      report("I4", message, { seq: event.seq });
    } else if (event.type === "control.record_changed") records.see(event);
    else if (event.type === "control.pruned") {
      checkReceipt(event, pruned, report);
      checkNoted(event, noted, report);
      pruned.add(event);
    }
  }
  if (next.value) {
    for await (const record of inspection.records()) {
      await records.compare(record, store);
      await checkMark(record, inspection, report);
    }
    records.end();
    heads.end(report);
    await checkReading(store, runId, { events, head: end.hash }, report);
  }
  const { run, delegations, asks } = await inspection.readRows(runId);
  if (run !== undefined || delegations.length + asks.length > 0) {
    report("I7", "The control log is stored as if it were a run.");
  }
  return { runId, events, delegations: 0, ...end, pruned };
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
  if (told !== log.head || count < log.events)
    report("I15", "The store tells another history of the control log.");
}
