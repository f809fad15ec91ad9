import { spawnSync } from "node:child_process";
import { cpus, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import type { Options } from "./options.ts";
import { ownMeasures } from "./own-measures.ts";
import type { Assignment } from "./own-worker.ts";
import type { Report, Sample } from "./report.ts";

const worker = fileURLToPath(new URL("./own-worker.ts", import.meta.url));
const variants = ["sqlite-normal", "sqlite-full"];

/** Our own rows alone, where the peers' benchmark with its floors is not at hand. */
export function runOwnBenchmark({ measures, quick, reps }: Options): Report {
  const effort = quick ? { measureMs: 500, warmUpMs: 300 } : { measureMs: 3000, warmUpMs: 2000 };
  const report = {
    started: new Date().toISOString(),
    env: {
      node: process.version,
      cpu: cpus()[0]?.model,
      cores: cpus().length,
      reps,
      load: loadavg(),
    },
    versions: {},
    measures: {} as Record<string, Record<string, Sample[]>>,
  };
  for (const measure of measures.filter((name) => name in ownMeasures)) {
    const samples: Record<string, Sample[]> = {};
    const times = measure === "long200" && !quick ? Math.max(10, reps) : reps;
    for (let repetition = 1; repetition <= times; repetition++) {
      for (const variant of variants) {
        process.stderr.write(`${measure} ${repetition}/${times} mandate/${variant}\n`);
        samples[`mandate/${variant}`] ??= [];
        samples[`mandate/${variant}`]?.push(perform({ variant, measure, effort }));
      }
    }
    report.measures[measure] = samples;
  }
  return report;
}

function perform(assignment: Assignment): Sample {
  const words = ["--no-warnings", "--expose-gc", worker, JSON.stringify(assignment)];
  const { stdout, stderr } = spawnSync(process.execPath, words, { encoding: "utf8" });
  try {
    return JSON.parse(stdout) as Sample;
  } catch {
    return { error: stderr.slice(-600) };
  }
}
