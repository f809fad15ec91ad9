import { markdownTable, type Table } from "../run/tables.ts";
import { barsOf, format } from "./bars.ts";
import type { Measured, Results } from "./results.ts";

/** What bench/LOAD.md says: the bars, and the figures behind them. */
export function loadDocument(results: Results): string {
  const parts = [
    "# What it bears",
    "",
    "Written by `npm run load` and `npm run load -- --soak 60m`; do not edit. Every database is verified",
    "afterwards with the same checker as `mandate verify`. On a machine that is shared, the load beside",
    "each part says how far its figures can be trusted: times grow with it, counts do not.",
    "",
    ...Object.entries(results).map(([name, part]) => `- ${name}: ${circumstances(part)}`),
    "",
    ...tablesOf(results).map(markdownTable),
  ];
  return parts.join("\n");
}

function circumstances({ at, load, machine, node }: Measured<unknown>): string {
  const loads = load.map((one) => one.toFixed(1)).join(" to ");
  return `${at.slice(0, 10)}, Node ${node}, ${machine}, load ${loads}`;
}

/** The tables for the terminal and for the document. */
export function tablesOf(results: Results): readonly Table[] {
  const bars = barsOf(results);
  return [
    {
      title: "Bars",
      head: ["", "bar", "measured", ""],
      rows: bars.map(({ bar, isMet, measured, what }) => [
        what,
        bar,
        measured,
        isMet ? "met" : "NOT MET",
      ]),
    },
    ...childrenTable(results),
    ...queueTables(results),
    ...storeTables(results),
    ...soakTables(results),
  ];
}

function childrenTable({ children }: Results): readonly Table[] {
  if (children === undefined) return [];
  return [
    {
      title: "Children at work at once, in one process",
      head: [
        ...["", "events/s", "worst second", "append p50 ms", "p99 ms", "max ms"],
        ...["lag p99 ms", "lag max ms", "RSS MB"],
      ],
      rows: children.values.map((one) => [
        `${one.children}, SQLite ${one.synchronous}`,
        ...[one.eventsPerSecond, one.worstSecond].map(format),
        ...[one.append.p50, one.append.p99, one.append.max].map(format),
        ...[one.lag.p99, one.lag.max, one.rssMb].map(format),
      ]),
    },
  ];
}

function queueTables({ queue }: Results): readonly Table[] {
  if (queue === undefined) return [];
  const { cancel, queues, recoveries } = queue.values;
  return [
    {
      title: "Queued at once, 50 at work",
      head: ["", "seconds", "held MB, from beginning to end", "peak RSS MB", "lag p99 ms"],
      rows: queues.map((one) => [
        one.what,
        format(one.seconds),
        one.heapCurve.join(" "),
        format(one.rssPeakMb),
        format(one.lag.p99),
      ]),
    },
    {
      title: "Cancelled in the middle",
      head: ["", "open", "answered ms", "ended ms"],
      rows: [
        [`of ${cancel.queued}`, ...[cancel.open, cancel.answeredMs, cancel.endedMs].map(format)],
      ],
    },
    {
      title: "Killed with most of it queued",
      head: ["", "open", "opened ms", "taken up ms", "all ended ms"],
      rows: recoveries.map((one) => [
        one.what,
        ...[one.open, one.openMs, one.recoverMs, one.endedMs].map(format),
      ]),
    },
  ];
}

function storeTables({ store }: Results): readonly Table[] {
  if (store === undefined) return [];
  const { commands, generated, paintedMs, recovery, requests } = store.values;
  const { delegations, events, runs, seconds } = generated;
  const counts = `${format(events)} events, ${format(runs)} runs, ${format(delegations)} delegations`;
  return [
    {
      title: `Commands on a home of ${counts} (generated in ${format(seconds)} s)`,
      head: ["", "ms", "best ms", "peak MB"],
      rows: commands.map(({ bestMs, command, ms, peakMb }) => [
        command,
        ...[ms, bestMs, peakMb].map(format),
      ]),
    },
    {
      title: "Requests to a server on it",
      head: ["", "first ms", "then ms"],
      rows: [
        ["opening", format(recovery.openMs), ""],
        ["taking up the run with open children", format(recovery.recoverMs), ""],
        ...requests.map(({ firstMs, ms, what }) => [what, format(firstMs), format(ms)]),
        ...paintedMs.map((ms) => ["first paint of the largest run's page", format(ms), ""]),
      ],
    },
  ];
}

function soakTables({ soak }: Results): readonly Table[] {
  if (soak === undefined) return [];
  const { cpuPercent, last, lines, minutes, verified, visits } = soak.values;
  return [
    {
      title: `A soak of ${minutes} minutes: growth by its second half`,
      head: ["", "first", "last", "in an hour", "flat below", ""],
      rows: lines.map(({ bound, first, isFlat, last: end, name, perHour, unit }) => [
        unit === "" ? name : `${name}, ${unit}`,
        ...[first, end, perHour, bound].map(format),
        isFlat ? "flat" : "GROWS",
      ]),
    },
    {
      title: "What it did meanwhile",
      head: ["", "count"],
      rows: [
        ...Object.entries(visits.done).map(([name, count]) => [name, format(count)]),
        ["visits that failed", format(visits.failures.length)],
        ["events, all verified", format(verified.events)],
        ["bytes of the database for an event", format(Math.round(last.database / last.events))],
        ["of one core, %", format(cpuPercent)],
      ],
    },
  ];
}
