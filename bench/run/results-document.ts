import { totalmem } from "node:os";
import { type Report, unmeasured } from "./report.ts";
import { markdownTable, type Table } from "./tables.ts";

/** What bench/RESULTS.md says: the machine, the bars, the tables. */
export function resultsDocument(
  report: Report,
  judged: readonly Table[],
  tables: readonly Table[],
): string {
  const { env, started, versions } = report;
  const memory = Math.round(totalmem() / 2 ** 30);
  const peers = Object.entries(versions).flatMap(([, packages]) =>
    Object.entries(packages).map(([name, version]) => `${name} ${version}`),
  );
  return [
    "# What the benchmark said",
    "",
    "Written by `npm run bench`; do not edit. Medians; ratios are medians of the ratios within each",
    "repetition. On a machine that is shared, differences below 1.3× are noise.",
    "",
    `- ${started.slice(0, 10)}, Node ${env.node}, ${env.reps} repetitions (ten of the long child)`,
    `- ${env.cores} cores (${env.cpu ?? "unknown"}), ${memory} GB; load ${env.load.map((each) => each.toFixed(1)).join(", ")} at the start`,
    ...(peers.length > 0 ? [`- peers: ${peers.join(", ")}`] : []),
    ...unmeasured(report).map((one) => `- not measured: ${one}`),
    "",
    ...[...judged, ...tables].map(markdownTable),
  ].join("\n");
}
