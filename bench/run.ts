/** Measures what is built, beside the floors and the peers: npm run bench. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { aimsOf } from "./run/aims.ts";
import { barsOf } from "./run/bars.ts";
import { chartsOf } from "./run/charts.ts";
import { measureColdStart } from "./run/cold-start.ts";
import { type InstallSize, measureInstallSizes } from "./run/install-size.ts";
import { type Options, parseOptions, usage } from "./run/options.ts";
import { runOwnBenchmark } from "./run/own-benchmark.ts";
import { findPeersBenchmark, runPeersBenchmark } from "./run/peers-benchmark.ts";
import { errorsIn, type Report } from "./run/report.ts";
import { resultsDocument } from "./run/results-document.ts";
import { barsTable, coldTable, installTable, plainTable, tablesOf } from "./run/tables.ts";

const root = dirname(import.meta.dirname);
const dist = join(root, "dist");
const pictures = join(root, "docs/pictures");

async function main(words: readonly string[]): Promise<number> {
  if (words.some((word) => word.startsWith("--bars"))) {
    // The bars measure the sources, and load the terminal and the browser: only where they are asked for.
    const { barsWanted, runBars } = await import("./bars/run-bars.ts");
    return runBars(barsWanted(words) ?? [], (text) => void process.stdout.write(text));
  }
  let options: Options;
  try {
    options = parseOptions(words, join(root, "bench/RESULTS.md"));
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    return 2;
  }
  // With another source in its place there is no binary to start.
  const isBuilt = process.env["MANDATE_BENCH_SOURCE"] === undefined;
  if (isBuilt && !build()) return 1;
  const report = await measure(options);
  // At once: what was measured for an hour must not be lost by what comes after it.
  if (options.json !== undefined) writeFileSync(options.json, JSON.stringify(report, null, 1));
  const isColdWanted = isBuilt && options.measures.includes("cold");
  const cold = isColdWanted ? await measureColdStart(dist) : undefined;
  const sizes = isBuilt && options.measures.includes("install") ? await installSizes() : [];
  const judged = [
    barsTable("Bars", barsOf(report, cold)),
    barsTable("Aims", aimsOf(report, sizes)),
  ];
  const tables = [
    ...tablesOf(report),
    ...(cold ? [coldTable(cold)] : []),
    ...(sizes.length > 0 ? [installTable(sizes)] : []),
  ];
  for (const table of [...tables, ...judged]) console.log(plainTable(table));
  if (options.json !== undefined) {
    writeFileSync(options.json, JSON.stringify({ ...report, coldStart: cold, sizes }, null, 1));
  }
  if (options.results !== undefined) {
    writeFileSync(options.results, resultsDocument(report, judged, tables));
    for (const { name, svg } of chartsOf(report, sizes)) writeFileSync(join(pictures, name), svg);
    console.log(`\nwritten: ${options.results}, and the charts in ${pictures}`);
  }
  const errors = errorsIn(report);
  for (const error of errors) console.error(`FAILED: ${error}`);
  return errors.length > 0 ? 1 : 0;
}

function build(): boolean {
  const { status } = spawnSync(process.execPath, [join(root, "scripts/build.mjs")], {
    stdio: "inherit",
  });
  return status === 0;
}

async function installSizes(): Promise<InstallSize[]> {
  const peers = findPeersBenchmark(root);
  return peers === undefined ? [] : measureInstallSizes(root, peers);
}

async function measure(options: Options): Promise<Report> {
  const peers = findPeersBenchmark(root);
  if (peers !== undefined) return runPeersBenchmark(peers, join(root, "bench/subject"), options);
  console.log(
    "The peers' benchmark is not here (set MANDATE_PEERS_BENCH to its folder): our own measures only, without floors.",
  );
  return runOwnBenchmark(options);
}

process.exitCode = await main(process.argv.slice(2));
