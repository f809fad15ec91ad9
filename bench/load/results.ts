import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg, totalmem } from "node:os";
import type { ChildrenMeasure } from "./children/measure-children.ts";
import type { CancelMeasure } from "./queue/measure-cancel.ts";
import type { QueueMeasure } from "./queue/measure-queue.ts";
import type { RecoveryMeasure } from "./queue/measure-recovery.ts";
import type { Sample } from "./soak/sample.ts";
import type { Soaked } from "./soak/soak.ts";
import type { StoreMeasure } from "./store/measure-store.ts";

/** What was measured, each part when it was; the document is written from all of it. */
export interface Results {
  children?: Measured<readonly ChildrenMeasure[]>;
  queue?: Measured<QueueResults>;
  store?: Measured<StoreMeasure>;
  soak?: Measured<SoakResults>;
}

export interface QueueResults {
  readonly queues: readonly QueueMeasure[];
  readonly cancel: CancelMeasure;
  readonly recoveries: readonly RecoveryMeasure[];
}

export interface SoakResults extends Omit<Soaked, "samples"> {
  readonly minutes: number;
  readonly first: Sample;
  readonly last: Sample;
  readonly cpuPercent: number;
}

export interface Measured<Values> {
  readonly at: string;
  readonly node: string;
  readonly machine: string;
  readonly load: readonly number[];
  readonly values: Values;
}

export function measured<Values>(values: Values, load: readonly number[]): Measured<Values> {
  const cores = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  return {
    at: new Date().toISOString(),
    node: process.version,
    machine: `${cores.length} cores (${cores[0]?.model ?? "unknown"}), ${memory} GB`,
    load: [...load, ...loadavg().slice(0, 1)],
    values,
  };
}

export function readResults(file: string): Results {
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Results) : {};
}

export function writeResults(file: string, results: Results): void {
  writeFileSync(file, `${JSON.stringify(results, null, 1)}\n`);
}
