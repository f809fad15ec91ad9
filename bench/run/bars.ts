import type { ColdStart } from "./cold-start.ts";
import { errorsIn, medianOf, type Report, ratioOf, verifiedEvents } from "./report.ts";

export interface Bar {
  readonly what: string;
  readonly bar: string;
  readonly measured: string;
  /** Null: it was not measured. */
  readonly isMet: boolean | null;
}

const normal = "mandate/sqlite-normal";
const full = "mandate/sqlite-full";

/** What was promised, held against what was measured. */
export function barsOf(report: Report, cold: ColdStart | undefined): Bar[] {
  const overhead = (subject: string, floor: string): number =>
    ratioOf(report, "overhead", "us", subject, floor);
  const events = verifiedEvents(report);
  return [
    atMost(
      "Overhead of a delegation, NORMAL",
      overhead(normal, "floor/sqlite-normal"),
      2,
      "× floor/sqlite-normal",
    ),
    atMost(
      "Overhead of a delegation, FULL",
      overhead(full, "floor/sqlite-full-group"),
      1.5,
      "× floor/sqlite-full-group",
    ),
    ...[normal, full].flatMap((subject) => {
      const fanout = (field: string): number => medianOf(report, "fanout1000", subject, field);
      return [
        atMost(`1,000 children in one turn, ${subject}`, fanout("ratio"), 2, "× ideal"),
        below(`Event-loop lag p99 meanwhile, ${subject}`, fanout("lagP99"), 100, "ms"),
        below(
          `Live heap of a waiting child, ${subject}`,
          medianOf(report, "live300", subject, "heapKbPerChild"),
          15,
          "KB",
        ),
        atMost(
          `Turn 200 over turn 20, ${subject}`,
          medianOf(report, "long200", subject, "growth"),
          1.1,
          "×",
        ),
      ];
    }),
    {
      what: "Bench databases verified",
      bar: "no violation",
      measured: events === 0 ? "not measured" : `${events.toLocaleString("en")} events`,
      isMet: events === 0 ? null : errorsIn(report).length === 0,
    },
    below("mandate --version", cold?.version, 150, "ms"),
    below("mandate ls, empty home", cold?.listEmpty, 300, "ms"),
    below("mandate ls, used home", cold?.listUsed, 300, "ms"),
  ];
}

export function atMost(what: string, value: number, limit: number, unit: string): Bar {
  return { what, bar: `at most ${limit} ${unit}`, ...judge(value, unit, value <= limit) };
}

export function below(what: string, value: number | undefined, limit: number, unit: string): Bar {
  const known = value ?? Number.NaN;
  return { what, bar: `under ${limit} ${unit}`, ...judge(known, unit, known < limit) };
}

function judge(value: number, unit: string, holds: boolean): Pick<Bar, "measured" | "isMet"> {
  if (!Number.isFinite(value)) return { measured: "not measured", isMet: null };
  const [shortUnit = ""] = unit.split(" ");
  return { measured: `${round(value)} ${shortUnit}`, isMet: holds };
}

export function round(value: number): string {
  if (!Number.isFinite(value)) return "";
  const size = Math.abs(value);
  return size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : value.toFixed(2);
}
