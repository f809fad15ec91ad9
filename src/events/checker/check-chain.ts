import { basename } from "node:path";
import type { LogHead, LogSpan, StoredBatch } from "../../ports/inspection.ts";
import { parseJson } from "../../ports/parse-json.ts";
import type { OrderHash } from "../checkpoint.ts";
import type { NewEvent, StoredEvent } from "../event.ts";
import { genesis, link } from "../hash-chain.ts";
import { summarize } from "../summarize.ts";
import { upcast } from "../upcast.ts";
import type { Report, Violation } from "./check-report.ts";

/**
 * I1, of one run: yields its events while their numbers and hashes are correct, and stops at the first
 * violation. Returns whether the whole log is correct.
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
    if (batch.firstSeq <= lastSeq) return broken("Its sequence number was used before.");
    if (batch.firstRunSeq !== lastRunSeq + 1) {
      return broken(`Event ${lastRunSeq + 1} of the run is followed by ${batch.firstRunSeq}.`);
    }
    const rows = parse(batch.text);
    if (rows === undefined) return broken("The stored text is not a list of events.");
    if (rows.length !== batch.count) {
      return broken(`${rows.length} events are stored, but their count is ${batch.count}.`);
    }
    const texts = rows.map((row) => JSON.stringify(row));
    if (`[${texts.join(",")}]` !== batch.text) {
      return broken("The stored text is not in its canonical form.");
    }
    const hashes = texts.map((text) => {
      head = link(head, text);
      return head;
    });
    if (head !== batch.hash) {
      return broken("The hash chain is broken: an event up to here was changed, or the hash.");
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

/**
 * I1, of the whole log: the sequence numbers of all runs have no gap and no overlap, so that a removed run
 * is noticed. Receipts explain the gaps of pruned runs. Returns the last number.
 */
export async function checkNumbering(
  spans: AsyncIterable<LogSpan>,
  pruned: readonly LogSpan[],
  violations: Violation[],
  orders: readonly OrderHash[],
): Promise<number> {
  let next = 1;
  const take = (span: LogSpan, isPruned: boolean): void => {
    const { count, firstSeq, runId } = span;
    for (const order of orders) order.take(span);
    if (firstSeq > next) {
      const message = `Events ${next} to ${firstSeq - 1} are missing from the log.`;
      violations.push({ invariant: "I1", seq: next, message });
    } else if (firstSeq < next) {
      const message = isPruned
        ? `Event ${firstSeq} was pruned with ${runId} according to its receipt, but is stored for another run.`
        : `Sequence number ${firstSeq} is used twice.`;
      violations.push({ invariant: "I1", runId, seq: firstSeq, message });
    }
    next = Math.max(next, firstSeq + count);
  };
  let gone = 0;
  const takePruned = (before: number): void => {
    for (; gone < pruned.length; gone++) {
      const span = pruned[gone];
      if (span === undefined || span.firstSeq >= before) return;
      take(span, true);
    }
  };
  for await (const span of spans) {
    takePruned(span.firstSeq);
    take(span, false);
  }
  takePruned(Number.POSITIVE_INFINITY);
  return next - 1;
}

/** An event that the log must have, and the message when it has not. */
export interface ExpectedEvent extends LogHead {
  readonly missing: string;
}

export const acknowledged = "It was acknowledged, but is missing or different in the log.";

export function keptInFile(path: string): string {
  return `It is in ${basename(path)} beside the database, but missing or different in the log: events were removed or changed, or the database was restored from an older copy. If you restored it, delete that file.`;
}

export const inCheckpoint = "It is in the checkpoint, but missing or different in the log.";

/** I8: no acknowledged event, head or event of a checkpoint is missing. */
export class HeadsCheck {
  readonly #expected: Map<number, ExpectedEvent[]>;
  #events = 0;

  constructor(expected: readonly ExpectedEvent[]) {
    this.#expected = Map.groupBy(expected, ({ seq }) => seq);
  }

  see({ hash, seq }: Pick<LogHead, "hash" | "seq">): void {
    this.#events++;
    const here = this.#expected.get(seq);
    if (here === undefined) return;
    const others = here.filter((one) => one.hash !== hash);
    if (others.length > 0) this.#expected.set(seq, others);
    else this.#expected.delete(seq);
  }

  /** Heads and checkpoints: only the last missing event is reported. */
  end(report: Report): void {
    const missing = [...this.#expected.values()].flat();
    for (const [what, events] of Map.groupBy(missing, (one) => one.missing)) {
      const seqs = what === acknowledged ? events.map(({ seq }) => seq) : [lastOf(events)];
      const whole = this.#events === 0 && what !== acknowledged ? "The run is missing. " : "";
      for (const seq of seqs) report("I8", `${whole}${what}`, { seq });
    }
  }
}

function lastOf(events: readonly ExpectedEvent[]): number {
  return Math.max(...events.map(({ seq }) => seq));
}
