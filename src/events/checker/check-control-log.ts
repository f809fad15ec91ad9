import { basename } from "node:path";
import { controlRunId, runNumberOf } from "../../ports/identity.ts";
import type { Inspection, KeptHeads, StoredMemory, StoredRecord } from "../../ports/inspection.ts";
import { memoryMarks } from "../../ports/memory-store.ts";
import type { Store } from "../../ports/store.ts";
import type { NumberSpan, StoredEvent } from "../event.ts";
import { genesis, sha256 } from "../hash-chain.ts";
import { memoriesHash } from "../memory-hash.ts";
import { PrunedRuns, type Receipt } from "../pruned-runs.ts";
import { isControlEvent } from "../run-state.ts";
import { type ExpectedEvent, HeadsCheck, verifiedEvents } from "./check-chain.ts";
import { memoryRowProblem } from "./check-memories.ts";
import type { CheckedLog, Report } from "./check-report.ts";

/**
 * The control log: its hash chain (I1), its event types (I4), and the stored records as the fold of its
 * events (I7). Returns the pruned runs.
 */
export async function checkControlLog(
  store: Store,
  inspection: Inspection,
  report: Report,
  expected: readonly ExpectedEvent[],
): Promise<CheckedLog & { readonly pruned: PrunedRuns }> {
  const runId = controlRunId;
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
      const message = `${event.type} is not an event of the control log.`;
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
    report("I7", "The control log has rows like a run.");
  }
  return { runId, events, delegations: 0, ...end, pruned };
}

/** I7: a record about a memory refers to a stored one, because memories are never removed. */
async function checkMark(
  { now, resourceId, resourceType }: StoredRecord,
  inspection: Inspection,
  report: Report,
): Promise<void> {
  const isMark = Object.values<string>(memoryMarks).includes(resourceType);
  if (!isMark || now === null || (await inspection.hasMemory(resourceId))) return;
  report("I7", `${resourceType}/${resourceId}: this memory is not stored.`);
}

/** I15: the store returns the whole control log. Events after the inspection's snapshot are ignored. */
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
    report("I15", "The store returns a different control log.");
}

/** The state of a record after its last event. */
interface Told {
  readonly version: number;
  readonly hash: string | null;
  readonly by: string;
  readonly at: number;
  readonly seq: number;
  /** One of its events did not follow from the previous one: nothing further is checked. */
  readonly isBroken: boolean;
}

/**
 * I1: the versions of a record are consecutive, and each change starts from the previous value. I7: the
 * stored record is that of its last event. I15: the store returns the same.
 */
class RecordsCheck {
  readonly #report: Report;
  readonly #told = new Map<string, Told>();

  constructor(report: Report) {
    this.#report = report;
  }

  see({ at, payload, seq }: StoredEvent<"control.record_changed">): void {
    const { record, version, actor, before_hash: before, after_hash: hash } = payload;
    const last = this.#told.get(record);
    const problem = stepProblem(last, version, before, hash);
    const isBroken = last?.isBroken || problem !== undefined;
    if (problem && !last?.isBroken) this.#report("I1", `${record}: ${problem}`, { seq });
    this.#told.set(record, { version, hash, by: actor, at, seq, isBroken });
  }

  async compare(record: StoredRecord, store: Store): Promise<void> {
    const { resourceType, resourceId } = record;
    const name = `${resourceType}/${resourceId}`;
    const told = this.#told.get(name);
    this.#told.delete(name);
    if (told?.isBroken) return;
    const problem = rowProblem(record, told);
    if (problem) this.#report("I7", `${name}: ${problem}`, told && { seq: told.seq });
    else if (record.now !== null && !(await isTold(record, record.now, store))) {
      this.#report("I15", `${name}: the store returns another value than the log.`);
    }
  }

  /** Every record of the log has a row; a deleted one keeps its version. */
  end(): void {
    for (const [name, { isBroken, seq }] of this.#told) {
      if (!isBroken) this.#report("I7", `${name}: it is in the log, but not stored.`, { seq });
    }
  }
}

function stepProblem(
  last: Told | undefined,
  version: number,
  before: string | null,
  after: string | null,
): string | undefined {
  const expected = (last?.version ?? 0) + 1;
  if (version !== expected)
    return `version ${version} follows where version ${expected} was expected.`;
  if (before !== (last?.hash ?? null)) {
    return `the value before version ${version} is not that of the previous version.`;
  }
  return before === null && after === null ? "it is deleted, but did not exist." : undefined;
}

function rowProblem({ now, lastVersion }: StoredRecord, told: Told | undefined) {
  if (told === undefined) return "it is stored, but not in the log.";
  if (lastVersion !== told.version) {
    return `its stored last version is ${lastVersion}; by the log it is ${told.version}.`;
  }
  if (told.hash === null) return now === null ? undefined : "it is stored, but was deleted.";
  if (now === null) return "it is not stored, but no event deleted it.";
  if (now.version !== told.version) {
    return `it is stored at version ${now.version}; by the log it is at ${told.version}.`;
  }
  if (sha256(now.text) !== told.hash) return "its stored value is not the one in the log.";
  const isSame = now.updatedBy === told.by && now.updatedAt === told.at;
  return isSame ? undefined : "its stored actor or time differs from the log.";
}

async function isTold(
  { resourceType, resourceId }: StoredRecord,
  { text, version }: NonNullable<StoredRecord["now"]>,
  store: Store,
): Promise<boolean> {
  const told = await store.readRecord(resourceType, resourceId);
  // The record was changed after the snapshot, so there is nothing to compare.
  if (told === undefined || told.version > version) return true;
  return told.version === version && JSON.stringify(told.value) === text;
}

/** I1: each pruned run has one receipt, which names only earlier events. */
function checkReceipt(receipt: Receipt, pruned: PrunedRuns, report: Report): void {
  const { payload, seq } = receipt;
  const problem = receiptProblem(receipt, pruned);
  if (problem) report("I1", `The receipt of ${payload.run}: ${problem}`, { seq });
}

export interface NotedPrunings extends Pick<KeptHeads, "path" | "since"> {
  /** `run hash` of each head. */
  readonly ends: ReadonlySet<string>;
}

function notedPrunings({ path, pruned, since }: KeptHeads): NotedPrunings {
  return { path, since, ends: new Set(pruned.map(({ hash, runId }) => `${runId} ${hash}`)) };
}

/** I8: before pruning writes a receipt, it writes the run's head to a file outside the database. */
function checkNoted(
  { payload, seq }: Receipt,
  heads: NotedPrunings | undefined,
  report: Report,
): void {
  if (heads === undefined || seq <= heads.since) return;
  const { head, run } = payload;
  if (heads.ends.has(`${run} ${head}`)) return;
  const message = `The receipt of ${run} was not written by pruning: ${basename(heads.path)} beside the database does not contain the run.`;
  report("I8", message, { seq });
}

function receiptProblem({ payload, seq }: Receipt, pruned: PrunedRuns): string | undefined {
  const { events, run, spans } = payload;
  if (runNumberOf(run) === undefined || run === controlRunId) return "it names no valid run.";
  if (pruned.get(run) !== undefined) return "the run was pruned before.";
  let [end, sum] = [0, 0];
  for (const [first, count] of spans as readonly NumberSpan[]) {
    if (!(Number.isSafeInteger(first) && first > end && Number.isSafeInteger(count) && count > 0)) {
      return "its sequence numbers are not in order.";
    }
    end = first + count - 1;
    sum += count;
  }
  if (end >= seq) return "it names events after itself.";
  return sum === events && sum > 0
    ? undefined
    : `it counts ${events} events, but names the numbers of ${sum}.`;
}

/** I7: only the memories of a pruned run are stored. I8: its acknowledged events are those that were pruned. */
export async function checkPrunedRun(
  inspection: Inspection,
  { payload }: Receipt,
  report: Report,
  acknowledged: readonly Pick<StoredEvent, "seq" | "hash">[],
): Promise<void> {
  const { memories, run, spans } = payload;
  const rows = await inspection.readRows(run);
  let hasEvents = false;
  for await (const _batch of inspection.readBatches(run)) hasEvents = true;
  const left = rows.delegations.length + rows.asks.length + rows.inbox.length;
  if (hasEvents || rows.run !== undefined || left > 0) {
    report("I7", "It was pruned according to its receipt, but parts of it are still stored.");
  }
  if (rows.memories.length !== memories) {
    const had = `${memories} when it was pruned`;
    report("I7", `${rows.memories.length} memories of it are stored; there were ${had}.`);
  } else if (memoriesAreChanged(rows.memories, payload)) {
    report("I7", "Its memories have changed since it was pruned.");
  }
  for (const memory of rows.memories) {
    const problem = memoryRowProblem(memory);
    if (problem) report("I7", `Memory ${memory.id}: ${problem}`);
  }
  const last = spans.at(-1);
  const end = last === undefined ? 0 : last[0] + last[1] - 1;
  for (const { hash, seq } of acknowledged) {
    const isPruned = spans.some(([first, count]) => seq >= first && seq < first + count);
    // A receipt has the hash of the last event only.
    if (isPruned && (seq !== end || hash === payload.head)) continue;
    report("I8", "It was acknowledged, but is not among the pruned events of the receipt.", {
      seq,
    });
  }
}

/** Receipts of earlier versions have only the number of memories. */
function memoriesAreChanged(memories: readonly StoredMemory[], receipt: Receipt["payload"]) {
  const { memories_hash: expected } = receipt;
  return expected !== undefined && memoriesHash(memories) !== expected;
}
