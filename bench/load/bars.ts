import { percentilesOf } from "./percentiles.ts";
import type { Results } from "./results.ts";

export interface LoadBar {
  readonly what: string;
  readonly bar: string;
  readonly measured: string;
  readonly isMet: boolean;
}

/** What was promised, beside what was measured; parts that were not measured are not judged. */
export function barsOf(results: Results): readonly LoadBar[] {
  return [
    ...childrenBars(results),
    ...queueBars(results),
    ...storeBars(results),
    ...soakBars(results),
  ];
}

const atMost = (what: string, measured: number, most: number, unit: string): LoadBar => ({
  what,
  bar: `≤ ${format(most)} ${unit}`.trim(),
  measured: `${format(measured)} ${unit}`.trim(),
  isMet: measured <= most,
});

const atLeast = (what: string, measured: number, least: number, unit: string): LoadBar => ({
  what,
  bar: `≥ ${format(least)} ${unit}`.trim(),
  measured: `${format(measured)} ${unit}`.trim(),
  isMet: measured >= least,
});

function childrenBars({ children }: Results): readonly LoadBar[] {
  return (children?.values ?? []).flatMap((measure) => {
    const { append, eventsPerSecond, synchronous, violations } = measure;
    const who = `${measure.children} children, ${synchronous}`;
    return [
      atLeast(`${who}: events for ${Math.round(measure.seconds)} s`, eventsPerSecond, 1000, "/s"),
      atMost(`${who}: append, p99`, append.p99, 50, "ms"),
      atMost(`${who}: violations`, violations, 0, ""),
    ];
  });
}

function queueBars({ queue }: Results): readonly LoadBar[] {
  if (queue === undefined) return [];
  const { cancel, queues, recoveries } = queue.values;
  return [
    ...queues.flatMap(({ violations, what, wrong }) => [
      atMost(`${what}: ended twice, never or badly`, wrong, 0, ""),
      atMost(`${what}: violations`, violations, 0, ""),
    ]),
    atMost(`cancel of ${cancel.open} open ones: answered`, cancel.answeredMs, 2000, "ms"),
    atMost("requests to the model after a cancel", cancel.startedAfter, 0, ""),
    ...recoveries.flatMap(({ open, openMs, recoverMs, takenTwice, violations, what }) => [
      atMost(`${what}, killed with ${open} open: recovered`, openMs + recoverMs, 5000, "ms"),
      atMost(`${what}: runs that a second recovery took up`, takenTwice, 0, ""),
      atMost(`${what}: violations`, violations, 0, ""),
    ]),
  ];
}

function storeBars({ store }: Results): readonly LoadBar[] {
  if (store === undefined) return [];
  const { commands, generated, paintedMs, recovery, secondWrote } = store.values;
  const timeOf = (name: string) =>
    commands.find(({ command }) => command === name)?.ms ?? Number.POSITIVE_INFINITY;
  return [
    atLeast("stored events", generated.events, 1_000_000, ""),
    atLeast("events of the largest run", generated.largestEvents, 100_000, ""),
    atMost("mandate ls", timeOf("mandate ls"), 300, "ms"),
    atMost("opening and recovery, 1,000 open", recovery.openMs + recovery.recoverMs, 5000, "ms"),
    atMost("events that a second recovery wrote", secondWrote, 0, ""),
    ...(paintedMs.length === 0
      ? []
      : [atMost("first paint of the largest run", percentilesOf(paintedMs).p50, 1000, "ms")]),
  ];
}

function soakBars({ soak }: Results): readonly LoadBar[] {
  if (soak === undefined) return [];
  const { lines, minutes, verified, visits } = soak.values;
  return [
    ...lines.map(({ bound, name, perHour, unit }) =>
      atMost(`soak of ${minutes} min: ${name} in an hour`, perHour, bound, unit),
    ),
    atMost("soak: visits that failed", visits.failures.length, 0, ""),
    atMost("soak: violations", verified.violations, 0, ""),
  ];
}

export function format(value: number): string {
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return value.toFixed(Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0);
}
