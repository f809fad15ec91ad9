import { type Bar, round } from "./bars.ts";
import type { ColdStart } from "./cold-start.ts";
import type { InstallSize } from "./install-size.ts";
import { medianOf, type Report, ratioOf } from "./report.ts";

export interface Table {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

type Column = readonly [
  head: string,
  value: (report: Report, measure: string, subject: string) => number,
];

const field =
  (name: string): Column[1] =>
  (report, measure, subject) =>
    medianOf(report, measure, subject, name);

const over =
  (floor: string): Column[1] =>
  (report, measure, subject) =>
    ratioOf(report, measure, "us", subject, floor);

const fanOut: readonly Column[] = [
  ["wall ms", field("wall")],
  ["× ideal", field("ratio")],
  ["CPU ms", field("cpuMs")],
  ["lag p99 ms", field("lagP99")],
  ["lag max ms", field("lagMax")],
  ["peak live", field("peakLive")],
  ["peak RSS KB/child", field("rssKbPerChild")],
];

const backToBack: readonly Column[] = [
  ["µs", field("us")],
  ["CPU µs", field("cpuUs")],
  ["× floor/sqlite-normal", over("floor/sqlite-normal")],
  ["× floor/sqlite-full-group", over("floor/sqlite-full-group")],
];

const shapes: Readonly<
  Record<string, { readonly title: string; readonly columns: readonly Column[] }>
> = {
  overhead: {
    title: "One delegation: parent and child, four model turns, no latency",
    columns: backToBack,
  },
  chain5: { title: "Nested delegation, five levels deep, no latency", columns: backToBack },
  long200: {
    title: "A child of 200 tool turns with results of 1 KB, no latency",
    columns: [
      ["total ms", field("totalMs")],
      ["µs at turn 20", field("turn20Us")],
      ["µs at turn 200", field("turn200Us")],
      ["growth", field("growth")],
    ],
  },
  fanout100: { title: "100 children in one turn, 50 ms latency (ideal 200 ms)", columns: fanOut },
  fanout1000: {
    title: "1,000 children in one turn, 50 ms latency (ideal 200 ms)",
    columns: fanOut,
  },
  live300: {
    title: "Heap of 300 children that wait for their last answer, after collection",
    columns: [
      ["live", field("live")],
      ["heap KB/child", field("heapKbPerChild")],
    ],
  },
  cold: {
    title: "Import in a fresh process",
    columns: [
      ["wall ms", field("wallMs")],
      ["max RSS MB", field("rssMb")],
    ],
  },
};

/** What was measured, a table a measure, every subject a row. */
export function tablesOf(report: Report): Table[] {
  return Object.entries(shapes).flatMap(([measure, { title, columns }]) => {
    const subjects = Object.entries(report.measures[measure] ?? {}).flatMap(([subject, samples]) =>
      samples.every(({ error }) => error !== undefined) ? [] : [subject],
    );
    if (subjects.length === 0) return [];
    // The floors are known only where they were measured.
    const rows = subjects.map((subject) => [
      subject,
      ...columns.map(([, value]) => round(value(report, measure, subject))),
    ]);
    return [withoutEmptyColumns({ title, head: ["", ...columns.map(([head]) => head)], rows })];
  });
}

export function coldTable({ node, importing, version, listEmpty, listUsed }: ColdStart): Table {
  const row = (what: string, ms: number): string[] => [what, round(ms), round(ms - node)];
  return {
    title: "Cold start of what is built",
    head: ["", "wall ms", "over bare node ms"],
    rows: [
      row("node -e 0", node),
      row("import of dist/index.js", importing),
      row("mandate --version", version),
      row("mandate ls, empty home", listEmpty),
      row("mandate ls, home with 200 runs", listUsed),
    ],
  };
}

export function installTable(sizes: readonly InstallSize[]): Table {
  return {
    title: "A fresh install, without optional peers",
    head: ["", "packages", "MB"],
    rows: sizes.map(({ subject, packages, megabytes }) => [
      subject,
      String(packages),
      round(megabytes),
    ]),
  };
}

export function barsTable(title: string, bars: readonly Bar[]): Table {
  return {
    title,
    head: ["", "bar", "measured", ""],
    rows: bars.map(({ what, bar, measured, isMet }) => [
      what,
      bar,
      measured,
      isMet === null ? "" : isMet ? "met" : "NOT MET",
    ]),
  };
}

function withoutEmptyColumns({ title, head, rows }: Table): Table {
  const isKept = (_: string, index: number): boolean =>
    index === 0 || rows.some((row) => row[index] !== "");
  return { title, head: head.filter(isKept), rows: rows.map((row) => row.filter(isKept)) };
}

export function plainTable({ title, head, rows }: Table): string {
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join("  ")
      .trimEnd();
  return ["", title, ...[head, ...rows].map(line)].join("\n");
}

export function markdownTable({ title, head, rows }: Table): string {
  const line = (row: readonly string[]): string => `| ${row.join(" | ")} |`;
  const rule = line(head.map((_, column) => (column === 0 ? "---" : "---:")));
  return [`## ${title}`, "", line(head), rule, ...rows.map(line), ""].join("\n");
}
