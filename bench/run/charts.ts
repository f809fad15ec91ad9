import { imported, overBare } from "./aims.ts";
import { round } from "./bars.ts";
import type { InstallSize } from "./install-size.ts";
import { medianOf, type Report } from "./report.ts";

export interface Chart {
  readonly name: string;
  readonly svg: string;
}

interface Drawing {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  readonly bars: readonly { readonly label: string; readonly value: number }[];
}

/** What people would rather look at: a picture a question, every subject a bar, shorter is better. */
export function chartsOf(report: Report, sizes: readonly InstallSize[]): Chart[] {
  const measured = (measure: string, field: string): Drawing["bars"] =>
    Object.keys(report.measures[measure] ?? {}).map((label) => ({
      label,
      value: medianOf(report, measure, label, field),
    }));
  const drawings: Drawing[] = [
    {
      name: "bench-overhead.svg",
      title: "One delegation, no model latency",
      unit: "µs",
      bars: measured("overhead", "us"),
    },
    {
      name: "bench-fan-out.svg",
      title: "1,000 children in one turn, against the ideal",
      unit: "×",
      bars: measured("fanout1000", "ratio"),
    },
    {
      name: "bench-lag.svg",
      title: "Blocked event loop meanwhile, 99th percentile",
      unit: "ms",
      bars: measured("fanout1000", "lagP99"),
    },
    {
      name: "bench-long-child.svg",
      title: "A child of 200 tool turns",
      unit: "ms",
      bars: measured("long200", "totalMs"),
    },
    {
      name: "bench-heap.svg",
      title: "Live heap of a waiting child",
      unit: "KB",
      bars: measured("live300", "heapKbPerChild"),
    },
    {
      name: "bench-import.svg",
      title: "Import, over bare Node",
      unit: "ms",
      bars: imported(report).map((label) => ({ label, value: overBare(report, label) })),
    },
    {
      name: "bench-install.svg",
      title: "Installed, without optional peers",
      unit: "MB",
      bars: sizes.map(({ subject, megabytes }) => ({ label: subject, value: megabytes })),
    },
  ];
  return drawings.flatMap((drawing) => {
    const bars = drawing.bars.filter(({ value }) => value > 0);
    return bars.length === 0 ? [] : [{ name: drawing.name, svg: draw({ ...drawing, bars }) }];
  });
}

const width = 760;
const left = 215;
const right = 90;
const rowHeight = 22;
const top = 52;

/** Logarithmic: the slowest is a thousand times the fastest, and both should be seen. */
function draw({ title, unit, bars }: Drawing): string {
  const sorted = bars.toSorted((one, other) => one.value - other.value);
  const values = sorted.map(({ value }) => value);
  const lowest = 10 ** Math.floor(Math.log10(Math.min(...values)) - 0.001);
  const highest = Math.max(...values) * 1.02;
  const span = Math.log10(highest / lowest);
  const place = (value: number): number =>
    left + (Math.log10(value / lowest) / span) * (width - left - right);
  const height = top + sorted.length * rowHeight + 26;
  const lines: string[] = [];
  for (let power = lowest; power <= highest; power *= 10) {
    const x = place(power).toFixed(1);
    lines.push(
      `<line class="grid" x1="${x}" x2="${x}" y1="${top - 6}" y2="${height - 22}"/>`,
      `<text class="quiet" x="${x}" y="${height - 8}" text-anchor="middle">${power.toLocaleString("en")}</text>`,
    );
  }
  const rows = sorted.map(({ label, value }, index) => {
    const y = top + index * rowHeight;
    const kind = label.startsWith("mandate")
      ? "ours"
      : label.startsWith("floor")
        ? "floor"
        : "peer";
    const end = place(value);
    return [
      `<text class="${kind}-label" x="${left - 8}" y="${y + 13}" text-anchor="end">${escaped(label)}</text>`,
      `<rect class="${kind}" x="${left}" y="${y + 2}" width="${Math.max(1, end - left).toFixed(1)}" height="${rowHeight - 8}" rx="2"/>`,
      `<text class="value" x="${(end + 6).toFixed(1)}" y="${y + 13}">${shown(value)} ${unit}</text>`,
    ].join("");
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">`,
    `<style>${style}</style>`,
    `<rect class="ground" width="${width}" height="${height}" rx="6"/>`,
    `<text class="title" x="16" y="24">${escaped(title)}</text>`,
    `<text class="quiet" x="16" y="40">${unit}, logarithmic; shorter is better</text>`,
    ...lines,
    ...rows,
    "</svg>",
    "",
  ].join("\n");
}

function shown(value: number): string {
  return value >= 1000 ? Math.round(value).toLocaleString("en") : round(value);
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

const style = [
  "text{font:12px system-ui,sans-serif;fill:#1f2328}",
  ".title{font-size:15px;font-weight:600}",
  ".quiet{fill:#59636e;font-size:11px}",
  ".ground{fill:#ffffff}",
  ".grid{stroke:#d1d9e0}",
  ".ours{fill:#0f766e}.ours-label{font-weight:600}",
  ".peer{fill:#9a8fb5}",
  ".floor{fill:#c4ccd4}.floor-label{fill:#59636e}",
  "@media (prefers-color-scheme:dark){",
  "text{fill:#e6edf3}.ground{fill:#0d1117}.quiet,.floor-label{fill:#9198a1}",
  ".grid{stroke:#2a313c}.ours{fill:#2dd4bf}.peer{fill:#7f7399}.floor{fill:#3d444d}}",
].join("");
