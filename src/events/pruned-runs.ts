import { askNumberOf, controlRunId, numberOf, runNumberOf } from "../ports/identity.ts";
import type { LogSpan } from "../ports/inspection.ts";
import type { Store } from "../ports/store.ts";
import type { StoredEvent } from "./event.ts";

/** The receipt of a pruned run. */
export type Receipt = StoredEvent<"control.pruned">;

/** The pruned runs, from the control log. */
export class PrunedRuns {
  readonly #byRun = new Map<string, Receipt>();
  #ranges: readonly (readonly [first: number, end: number, receipt: Receipt])[] | undefined;

  add(receipt: Receipt): void {
    this.#byRun.set(receipt.payload.run, receipt);
    this.#ranges = undefined;
  }

  get size(): number {
    return this.#byRun.size;
  }

  all(): Iterable<Receipt> {
    return this.#byRun.values();
  }

  get(runId: string): Receipt | undefined {
    return this.#byRun.get(runId);
  }

  /** The receipt of the run that a run, delegation or ask id belonged to. */
  receiptOf(id: string): Receipt | undefined {
    const number = runNumberOf(id) ?? askNumberOf(id) ?? numberOf(id);
    if (number === undefined) return undefined;
    this.#ranges ??= this.#sortedRanges();
    let [low, high] = [0, this.#ranges.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#ranges[middle]?.[0] ?? 0) <= number) low = middle + 1;
      else high = middle;
    }
    const range = this.#ranges[low - 1];
    return range !== undefined && number < range[1] ? range[2] : undefined;
  }

  /** The sequence numbers of pruned runs, in order. */
  spans(): readonly LogSpan[] {
    const spans = [...this.#byRun.values()].flatMap(({ payload: { run, spans: own } }) =>
      own.map(([firstSeq, count]) => ({ runId: run, firstSeq, count })),
    );
    return spans.sort((left, right) => left.firstSeq - right.firstSeq);
  }

  #sortedRanges() {
    const ranges = [...this.#byRun.values()].flatMap((receipt) =>
      receipt.payload.numbers.map(([first, count]) => [first, first + count, receipt] as const),
    );
    return ranges.sort(([left], [right]) => left - right);
  }
}

/** Reads the whole control log. */
export async function readPrunedRuns(store: Pick<Store, "readEvents">): Promise<PrunedRuns> {
  const pruned = new PrunedRuns();
  for await (const event of store.readEvents({ runId: controlRunId })) {
    if (event.type === "control.pruned") pruned.add(event);
  }
  return pruned;
}

/** A sentence about a pruned run or a part of it; undefined: the id was not pruned. */
export async function tellPruned(
  store: Pick<Store, "readEvents">,
  id: string,
): Promise<string | undefined> {
  const receipt = (await readPrunedRuns(store)).receiptOf(id);
  return receipt && describePruned(receipt, id);
}

function describePruned({ at, payload }: Receipt, id: string): string {
  const what = id === payload.run ? `Run ${id}` : `${id} of run ${payload.run}`;
  const day = new Date(at).toISOString().slice(0, 10);
  return `${what} was pruned on ${day} by ${payload.actor}: it ${payload.outcome}, and only its receipt is left.`;
}
