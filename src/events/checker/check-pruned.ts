import { basename } from "node:path";
import { controlRunId, runNumberOf } from "../../ports/identity.ts";
import type { Inspection, KeptHeads, StoredMemory } from "../../ports/inspection.ts";
import type { NumberSpan, StoredEvent } from "../event.ts";
import { memoriesHash } from "../memory-hash.ts";
import type { PrunedRuns, Receipt } from "../pruned-runs.ts";
import { memoryRowProblem } from "./check-memories.ts";
import type { Report } from "./check-report.ts";

/** I1: a receipt is about one run, once, and about nothing that came after it. */
export function checkReceipt(receipt: Receipt, pruned: PrunedRuns, report: Report): void {
  const { payload, seq } = receipt;
  const problem = receiptProblem(receipt, pruned);
  if (problem) report("I1", `The receipt of ${payload.run}: ${problem}`, { seq });
}

export interface NotedPrunings extends Pick<KeptHeads, "path" | "since"> {
  /** Run and hash of each. */
  readonly ends: ReadonlySet<string>;
}

export function notedPrunings({ path, pruned, since }: KeptHeads): NotedPrunings {
  return { path, since, ends: new Set(pruned.map(({ hash, runId }) => `${runId} ${hash}`)) };
}

/** I8: pruning notes outside of the database what it removes, before the receipt is written. */
export function checkNoted(
  { payload, seq }: Receipt,
  heads: NotedPrunings | undefined,
  report: Report,
): void {
  if (heads === undefined || seq <= heads.since) return;
  const { head, run } = payload;
  if (heads.ends.has(`${run} ${head}`)) return;
  const message = `The receipt of ${run} was not written by pruning it: ${basename(heads.path)} beside the database does not have it.`;
  report("I8", message, { seq });
}

function receiptProblem({ payload, seq }: Receipt, pruned: PrunedRuns): string | undefined {
  const { events, run, spans } = payload;
  if (runNumberOf(run) === undefined || run === controlRunId) return "there can be no such run.";
  if (pruned.get(run) !== undefined) return "it was pruned before.";
  let [end, sum] = [0, 0];
  for (const [first, count] of spans as readonly NumberSpan[]) {
    if (!(Number.isSafeInteger(first) && first > end && Number.isSafeInteger(count) && count > 0)) {
      return "its sequence numbers are not in order.";
    }
    end = first + count - 1;
    sum += count;
  }
  if (end >= seq) return "it speaks of events that came after it.";
  return sum === events && sum > 0
    ? undefined
    : `it counts ${events} events, and names the numbers of ${sum}.`;
}

/** I7: of a pruned run nothing is stored but its memories. I8: nothing else was acknowledged. */
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
    report("I7", "It was pruned, by its receipt, and something of it is still stored.");
  }
  if (rows.memories.length !== memories) {
    const had = `${memories} when it was pruned`;
    report("I7", `${rows.memories.length} memories of it are stored; there were ${had}.`);
  } else if (memoriesAreChanged(rows.memories, payload)) {
    report("I7", "Its memories are not those that it had when it was pruned.");
  }
  for (const memory of rows.memories) {
    const problem = memoryRowProblem(memory);
    if (problem) report("I7", `Memory ${memory.id}: ${problem}`);
  }
  const last = spans.at(-1);
  const end = last === undefined ? 0 : last[0] + last[1] - 1;
  for (const { hash, seq } of acknowledged) {
    const isPruned = spans.some(([first, count]) => seq >= first && seq < first + count);
    // Of the events before its last one a receipt has no hash.
    if (isPruned && (seq !== end || hash === payload.head)) continue;
    report("I8", "It was acknowledged, and is not what was pruned, by the receipt.", { seq });
  }
}

/** Receipts of earlier versions only count them. */
function memoriesAreChanged(memories: readonly StoredMemory[], receipt: Receipt["payload"]) {
  const { memories_hash: expected } = receipt;
  return expected !== undefined && memoriesHash(memories) !== expected;
}
