import type { LogSpan } from "../../ports/inspection.ts";
import type { OrderHash } from "../checkpoint.ts";
import type { Violation } from "./check-report.ts";

/**
 * I1, of the whole log: sequence numbers follow each other without gap or overlap over all runs, so
 * that a run that was taken out as a whole is missed. What was pruned fills exactly the gap that its
 * receipt names. Gives the last number.
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
        ? `Event ${firstSeq} was pruned with ${runId}, by its receipt, and is stored for another run.`
        : `Sequence number ${firstSeq} was given twice.`;
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
