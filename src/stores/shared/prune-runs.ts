import { verifiedEvents } from "../../events/checker/check-chain.ts";
import type { EventPayloads, NumberSpan, StoredEvent } from "../../events/event.ts";
import { memoriesHash } from "../../events/memory-hash.ts";
import { SpentLines } from "../../events/spent.ts";
import type { Clock } from "../../ports/clock.ts";
import { askNumberOf, numberOf, runIdOf } from "../../ports/identity.ts";
import type { StoredBatch, StoredMemory } from "../../ports/inspection.ts";
import type { ArtifactStore, PrunedRun, PruneReport, PruneRequest } from "../../ports/store.ts";
import { keepUpReferences, type ReferenceRows, sweepArtifacts } from "./body-sweep.ts";

/**
 * What a store implements for pruning. All decisions are made here, so that all stores prune alike.
 */
export interface PruneRows extends ReferenceRows {
  /** True for one caller within each period of `everyMs`. */
  takeTurn(everyMs: number): Promise<boolean>;
  /** Runs that finished before the given time, with a greater number than `after`, in order. */
  finishedRuns(
    before: number,
    after: number,
    limit: number,
  ): Promise<readonly { readonly run: number; readonly outcome: string }[]>;
  batchesOf(run: number): AsyncIterable<StoredBatch>;
  memoriesOf(run: number): Promise<readonly StoredMemory[]>;
  /** The runs that open runs resume, directly or through other runs. */
  continuedRuns(): Promise<ReadonlySet<number>>;
  /**
   * In one transaction: removes the runs that still exist and that no open run resumes, with texts
   * that nothing references, and writes their receipts. Returns the removed runs.
   */
  remove(prepared: readonly PreparedPrune[]): Promise<ReadonlySet<number>>;
  /** Forgets answered requests that began before that time. */
  forgetRequests(before: number): Promise<void>;
}

/** Short transactions, because other writers wait for each. */
const runsAtOnce = 20;
const eventsAtOnce = 5_000;
const rowsAtOnce = 200;
const dayMs = 24 * 60 * 60 * 1000;

/**
 * Removes finished runs in groups, each run with its receipt. A crash in between leaves runs,
 * references or bodies that the next pruning removes; nothing that is needed is lost.
 */
export async function pruneRuns(
  rows: PruneRows,
  artifacts: ArtifactStore,
  request: PruneRequest,
  clock: Clock,
): Promise<PruneReport> {
  const { dryRun = false, every } = request;
  const report = { runs: [] as PrunedRun[], damaged: [] as string[], kept: [] as string[] };
  if (every !== undefined && !(await rows.takeTurn(every))) {
    return { ...report, isMore: false, artifacts: 0 };
  }
  const listed = dryRun ? undefined : await keepUpReferences(rows, artifacts);
  let waiting: PreparedPrune[] = [];
  const removeWaiting = async (): Promise<void> => {
    const gone = dryRun ? undefined : await rows.remove(waiting);
    for (const { receipt, run } of waiting) {
      if (gone === undefined || gone.has(run)) report.runs.push(describe(receipt));
    }
    waiting = [];
  };
  let isMore = false;
  for await (const prepared of prepareAll(rows, request, report)) {
    if (report.runs.length + waiting.length >= request.most) {
      isMore = true;
      break;
    }
    waiting.push(prepared);
    const events = waiting.reduce((sum, { receipt }) => sum + receipt.events, 0);
    if (waiting.length >= runsAtOnce || events >= eventsAtOnce) await removeWaiting();
  }
  if (waiting.length > 0) await removeWaiting();
  if (listed === undefined) return { ...report, isMore, artifacts: 0 };
  await rows.forgetRequests(request.finishedBefore);
  const { bodiesBefore = clock.now() - dayMs } = request;
  const removed = await sweepArtifacts(rows, artifacts, listed, bodiesBefore);
  await artifacts.removeTorn?.(bodiesBefore);
  return { ...report, isMore, artifacts: removed };
}

async function* prepareAll(
  rows: PruneRows,
  { actor, finishedBefore, keep, keepFailed = false }: PruneRequest,
  report: { readonly damaged: string[]; readonly kept: string[] },
): AsyncGenerator<PreparedPrune> {
  const continued = await rows.continuedRuns();
  for (let after = 0; ; ) {
    const found = await rows.finishedRuns(finishedBefore, after, rowsAtOnce);
    for (const { outcome, run } of found) {
      after = run;
      if (keepFailed && outcome !== "succeeded") continue;
      const runId = runIdOf(run);
      if (continued.has(run) || keep?.has(runId)) {
        report.kept.push(runId);
        continue;
      }
      const memories = await rows.memoriesOf(run);
      const prepared = await prepareReceipt({ run, batches: rows.batchesOf(run), memories, actor });
      if (prepared === undefined) report.damaged.push(runId);
      else yield prepared;
    }
    if (found.length < rowsAtOnce) return;
  }
}

function describe(receipt: PreparedPrune["receipt"]): PrunedRun {
  const { events, finished_at: finishedAt, outcome, run: runId } = receipt;
  return { runId, outcome, finishedAt, events };
}

/** A run that can be removed, with everything that is recorded about it afterwards. */
export interface PreparedPrune {
  readonly run: number;
  readonly receipt: EventPayloads["control.pruned"];
  /** The keys of the run's rows. */
  readonly batches: readonly number[];
  readonly delegations: readonly number[];
  readonly asks: readonly number[];
}

export interface FinishedRun {
  readonly run: number;
  readonly batches: AsyncIterable<StoredBatch>;
  readonly memories: readonly StoredMemory[];
  readonly actor: string;
}

/**
 * Reads a finished run from its beginning. Undefined when its log is damaged or has no end: a
 * receipt vouches for the events that it replaces.
 */
async function prepareReceipt(finished: FinishedRun): Promise<PreparedPrune | undefined> {
  const { actor, memories, run } = finished;
  const runId = runIdOf(run);
  const batches: number[] = [];
  const spans: NumberSpan[] = [];
  async function* seen(): AsyncGenerator<StoredBatch> {
    for await (const batch of finished.batches) {
      batches.push(batch.firstSeq);
      extend(spans, batch.firstSeq, batch.count);
      yield batch;
    }
  }
  const spent = new SpentLines();
  const delegations: number[] = [];
  const asks: number[] = [];
  let isSound = true;
  let [first, last]: (StoredEvent | undefined)[] = [];
  let events = 0;
  for await (const event of verifiedEvents(runId, seen(), () => (isSound = false))) {
    first ??= event;
    last = event;
    events++;
    spent.see(event);
    if (event.type === "agent.subagent_created")
      delegations.push(numberOf(event.sub_agent_id ?? "") ?? -1);
    if (event.type === "agent.asked") asks.push(askNumberOf(event.payload.ask_id) ?? -1);
  }
  if (!isSound || first === undefined || last?.type !== "run.finished") return undefined;
  const receipt = {
    run: runId,
    actor,
    outcome: last.payload.outcome,
    started_at: first.at,
    finished_at: last.at,
    events,
    head: last.hash,
    spans,
    numbers: spansOf([run, ...delegations, ...asks]),
    memories: memories.length,
    ...(memories.length > 0 && { memories_hash: memoriesHash(memories) }),
    spent: spent.all(),
  };
  return { run, receipt, batches, delegations, asks };
}

function spansOf(numbers: readonly number[]): readonly NumberSpan[] {
  const spans: NumberSpan[] = [];
  for (const number of numbers.toSorted((left, right) => left - right)) extend(spans, number, 1);
  return spans;
}

function extend(spans: NumberSpan[], first: number, count: number): void {
  const last = spans.at(-1);
  if (last !== undefined && last[0] + last[1] === first) {
    spans[spans.length - 1] = [last[0], last[1] + count];
  } else spans.push([first, count]);
}
