import type { LogSpan } from "../ports/inspection.ts";
import type { Violation } from "./check-report.ts";

/**
 * I1, of the whole log: sequence numbers follow each other without gap or overlap over all runs, so
 * that a run that was taken out as a whole is missed.
 */
export async function checkNumbering(
  spans: AsyncIterable<LogSpan>,
  violations: Violation[],
): Promise<void> {
  let next = 1;
  for await (const { runId, firstSeq, count } of spans) {
    if (firstSeq > next) {
      const message = `Events ${next} to ${firstSeq - 1} are missing from the log.`;
      violations.push({ invariant: "I1", seq: next, message });
    } else if (firstSeq < next) {
      const message = `Sequence number ${firstSeq} was given twice.`;
      violations.push({ invariant: "I1", runId, seq: firstSeq, message });
    }
    next = Math.max(next, firstSeq + count);
  }
}
