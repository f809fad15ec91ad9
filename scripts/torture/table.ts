import { recoveryBarMs } from "./life.ts";
import type { KindReport } from "./torture.ts";

const titles = [
  ...["kind", "store", "rounds", "points", "killed", "gave up", "runs", "events", "acknowledged"],
  ...["recovered", "median ms", "worst ms", "s"],
];

/** What was done and what came of it, a line for each kind and store. */
export function tableOf(reports: readonly KindReport[]): string {
  const rows = reports.map(({ kind, store, rounds, points, tally, seconds }) => [
    ...[kind, store, rounds, points ?? "no end", tally.kills, tally.gaveUp, tally.runs],
    ...[tally.events, tally.acknowledged, tally.recoveries.length],
    ...[Math.round(tally.medianRecovery), Math.round(tally.worstRecovery), Math.round(seconds)],
  ]);
  const cells = [titles, ...rows].map((row) => row.map(String));
  const widths = titles.map((_, column) =>
    Math.max(...cells.map((row) => row[column]?.length ?? 0)),
  );
  const lines = cells.map((row) =>
    row
      .map((cell, column) =>
        column < 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join("  "),
  );
  return [
    ...lines,
    `recovery: from the start of a process until all that was open is taken up (bar ${recoveryBarMs} ms)`,
  ].join("\n");
}
