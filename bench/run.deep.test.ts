import { afterEach, expect, test, vi } from "vitest";
import { aimsOf } from "./run/aims.ts";
import { barsOf } from "./run/bars.ts";
import { chartsOf } from "./run/charts.ts";
import { parseOptions } from "./run/options.ts";
import { runOwnBenchmark } from "./run/own-benchmark.ts";
import { errorsIn, median, type Report, ratioOf } from "./run/report.ts";
import { resultsDocument } from "./run/results-document.ts";
import { barsTable, tablesOf } from "./run/tables.ts";

afterEach(() => vi.unstubAllEnvs());

function reportWith(measures: Report["measures"]): Report {
  const env = { node: "v24.0.0", cpu: "a fast one", cores: 2, reps: 3, load: [0.1, 0.2, 0.3] };
  return { started: "2026-01-02T03:04:05Z", env, versions: {}, measures };
}

const overhead = {
  "floor/sqlite-normal": [{ us: 100 }, { us: 200 }, { us: 100 }],
  "mandate/sqlite-normal": [{ us: 150, stats: { events: 30 } }, { us: 320 }, { us: 190 }],
};

test("without the peers' benchmark our own rows are measured, and their databases verified", () => {
  vi.stubEnv("MANDATE_BENCH_SOURCE", new URL("../src/", import.meta.url).href);
  const options = parseOptions(["--quick", "--measures", "overhead"], "unused");
  const report = runOwnBenchmark(options);
  expect(errorsIn(report)).toEqual([]);
  const [sample] = report.measures["overhead"]?.["mandate/sqlite-full"] ?? [];
  expect(sample?.["us"]).toBeGreaterThan(0);
  expect(sample?.stats?.events).toBeGreaterThan(100);
});

test("ratios are taken within a repetition, and the median of them counts", () => {
  expect(median([3, 1, Number.NaN, 2])).toBe(2);
  const ratio = ratioOf(
    reportWith({ overhead }),
    "overhead",
    "us",
    "mandate/sqlite-normal",
    "floor/sqlite-normal",
  );
  expect(ratio).toBe(1.6);
});

test("bars are met, not met, or not measured", () => {
  const live300 = { "mandate/sqlite-full": [{ heapKbPerChild: 15 }] };
  const bars = barsOf(reportWith({ overhead, live300 }), undefined);
  const verdicts = new Map(bars.map(({ what, isMet }) => [what, isMet]));
  expect(verdicts.get("Overhead of a delegation, NORMAL")).toBe(true);
  expect(verdicts.get("Overhead of a delegation, FULL")).toBe(null);
  expect(verdicts.get("Live heap of a waiting child, mandate/sqlite-full")).toBe(false);
  expect(verdicts.get("Bench databases verified")).toBe(true);
  expect(verdicts.get("mandate --version")).toBe(null);
});

test("a database that does not hold is a failure, and no bar is met by it", () => {
  const failed = { "mandate/sqlite-normal": [{ error: "1 violations; I7" }] };
  const report = reportWith({ overhead, chain5: failed });
  expect(errorsIn(report)).toEqual(["chain5 of mandate/sqlite-normal: 1 violations; I7"]);
  const bars = barsOf(report, undefined);
  expect(bars.find(({ what }) => what === "Bench databases verified")?.isMet).toBe(false);
});

test("a peer that cannot be measured here is named with the reason, and is no failure of ours", () => {
  const failed = [{ error: "exit 1 after 5 ms\n  Error: Could not locate the bindings\n  at x" }];
  const report = reportWith({
    overhead: { ...overhead, "peer/sqlite": failed },
    chain5: { "peer/sqlite": failed },
  });
  expect(errorsIn(report)).toEqual([]);
  const document = resultsDocument(report, [], tablesOf(report));
  expect(document).toContain(
    "- not measured: peer/sqlite (overhead, chain5): Error: Could not locate the bindings",
  );
  expect(document).not.toContain("| peer/sqlite |");
});

test("the document names the machine and has the bars before the tables", () => {
  const report = reportWith({ overhead });
  const document = resultsDocument(
    report,
    [barsTable("Bars", barsOf(report, undefined)), barsTable("Aims", aimsOf(report, []))],
    tablesOf(report),
  );
  expect(document).toContain("2 cores (a fast one)");
  expect(document).toContain("| mandate/sqlite-normal | 190 | 1.60 |");
  expect(document.indexOf("## Bars")).toBeLessThan(document.indexOf("## One delegation"));
});

test("only a whole benchmark overwrites the document", () => {
  expect(parseOptions([], "RESULTS.md").results).toBe("RESULTS.md");
  expect(parseOptions(["--quick"], "RESULTS.md").results).toBeUndefined();
  expect(parseOptions(["--measures", "cold"], "RESULTS.md").results).toBeUndefined();
  expect(parseOptions(["--only", "mandate,floor"], "RESULTS.md").results).toBeUndefined();
  expect(() => parseOptions(["--reps", "none"], "RESULTS.md")).toThrow("--reps is a whole number");
});

test("an import and an install are held against the best and the heaviest of the peers", () => {
  const cold = {
    node: [{ wallMs: 40 }],
    mandate: [{ wallMs: 47 }],
    floor: [{ wallMs: 41 }],
    "peer-a": [{ wallMs: 160 }],
    "peer-b": [{ wallMs: 400 }],
  };
  const sizes = [
    { subject: "mandate", packages: 39, megabytes: 45 },
    { subject: "mastra", packages: 30, megabytes: 107 },
  ];
  const aims = aimsOf(reportWith({ cold }), sizes);
  const verdicts = new Map(aims.map(({ what, bar, isMet }) => [what, [bar, isMet]]));
  expect(verdicts.get("Import over bare Node")).toEqual(["at most 30 ms", true]);
  expect(verdicts.get("Import over bare Node, beside the best peer's")).toEqual([
    "under 120 ms",
    true,
  ]);
  expect(verdicts.get("Packages installed, beside mastra")).toEqual(["under 30 packages", false]);
  expect(verdicts.get("Installed size, beside mastra")).toEqual(["under 107 MB", true]);
});

test("a chart has a bar for every subject that was measured, the shortest first, by its logarithm", () => {
  const measured = { ...overhead, "peer<a>/plain": [{ us: 15_000 }], "peer-b/plain": [{}] };
  const [chart, ...others] = chartsOf(reportWith({ overhead: measured }), []);
  expect(others).toEqual([]);
  expect(chart?.name).toBe("bench-overhead.svg");
  const labels = [...(chart?.svg ?? "").matchAll(/text-anchor="end">([^<]*)</g)].map(
    ([, one]) => one,
  );
  expect(labels).toEqual(["floor/sqlite-normal", "mandate/sqlite-normal", "peer&lt;a>/plain"]);
  const widths = [
    ...(chart?.svg ?? "").matchAll(/class="(?:floor|ours|peer)" .*? width="([\d.]+)"/g),
  ];
  const [floor = 0, ours = 0, peer = 0] = widths.map(([, width]) => Number(width));
  expect(peer - ours).toBeGreaterThan((ours - floor) * 5);
  expect(chart?.svg).toContain("15,000 µs");
});
