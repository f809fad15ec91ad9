import { verifiedEvents } from "../../events/checker/check-chain.ts";
import type { EventPayloads, NumberSpan, StoredEvent } from "../../events/event.ts";
import { memoriesHash } from "../../events/memory-hash.ts";
import { SpentLines } from "../../events/spent-lines.ts";
import { askNumberOf, numberOf, runIdOf } from "../../ports/identity.ts";
import type { StoredBatch, StoredMemory } from "../../ports/inspection.ts";

/** A run that can be removed, with all that there is to know about it afterwards. */
export interface PreparedPrune {
  readonly run: number;
  readonly receipt: EventPayloads["control.pruned"];
  /** The keys of its rows. */
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
 * Reads a finished run once more from its beginning. Undefined when its log does not hold, or does
 * not end: a receipt vouches for what it replaces.
 */
export async function prepareReceipt(finished: FinishedRun): Promise<PreparedPrune | undefined> {
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
