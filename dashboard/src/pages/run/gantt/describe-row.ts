import { formatSpan } from "../../../../../src/surfaces/cli/amounts.ts";
import { barLooks } from "./bar-looks.tsx";
import type { BarKind } from "./doing-of.ts";
import type { GanttRow } from "./gantt-fold.ts";

/** A row in words, for screen readers: how long it took, and with what. */
export function describeRow(row: GanttRow, until: number, isCritical: boolean): string {
  const spent = new Map<BarKind, number>();
  for (const { from, kind, to } of row.bars) {
    if (from > until) break;
    spent.set(kind, (spent.get(kind) ?? 0) + Math.min(to ?? until, until) - from);
  }
  const parts = [...spent]
    .filter(([kind, ms]) => ms > 0 && kind !== "own")
    .sort(([, one], [, other]) => other - one)
    .map(([kind, ms]) => `${barLooks[kind].word} ${formatSpan(ms)}`);
  const whole = formatSpan(Math.min(row.to ?? until, until) - row.from);
  return [whole, ...parts, ...(isCritical ? ["on the critical path"] : [])].join(", ");
}
