import { readdirSync, statSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Store } from "../../../src/ports/store.ts";

/** How a process is at one moment. Bytes, unless a name says otherwise. */
export interface Sample {
  readonly seconds: number;
  /** After a collection: what is held, not what is lying about. */
  readonly heap: number;
  /** What the engine keeps for it, used or not. */
  readonly heapTotal: number;
  readonly external: number;
  readonly rss: number;
  readonly handles: number;
  readonly descriptors: number;
  readonly lagP99Ms: number;
  readonly lagMaxMs: number;
  readonly cpuPercent: number;
  readonly events: number;
  readonly runs: number;
  readonly database: number;
}

export const sampleNames = [
  "seconds",
  "heap",
  "heapTotal",
  "external",
  "rss",
  "handles",
  "descriptors",
  "lagP99Ms",
  "lagMaxMs",
  "cpuPercent",
  "events",
  "runs",
  "database",
] as const satisfies readonly (keyof Sample)[];

/** Takes a sample of this process every so often; needs `--expose-gc` to say what is held. */
export function startSampling(
  store: Pick<Store, "subscribe">,
  database: string,
  everyMs: number,
  onSample: (sample: Sample) => void,
): { stop(): void } {
  const startedAt = performance.now();
  const counted = { events: 0, runs: 0 };
  const unsubscribe = store.subscribe((events) => {
    counted.events += events.length;
    for (const { type } of events) if (type === "run.started") counted.runs += 1;
  });
  const lag = monitorEventLoopDelay({ resolution: 5 });
  lag.enable();
  let cpu = process.cpuUsage();
  let lookedAt = startedAt;
  const timer = setInterval(() => {
    // Before the collection, which is ours and no lag of the product's.
    const lagP99Ms = lag.percentile(99) / 1e6 - 5;
    const lagMaxMs = lag.max / 1e6 - 5;
    const now = performance.now();
    const { user, system } = process.cpuUsage(cpu);
    const cpuPercent = (user + system) / 10 / (now - lookedAt);
    globalThis.gc?.();
    globalThis.gc?.();
    const { external, heapTotal, heapUsed, rss } = process.memoryUsage();
    onSample({
      seconds: (now - startedAt) / 1000,
      heap: heapUsed,
      ...{ heapTotal, external, rss, lagP99Ms, lagMaxMs, cpuPercent, ...counted },
      handles: process.getActiveResourcesInfo().length,
      descriptors: countDescriptors(),
      database: sizeOf(database) + sizeOf(`${database}-wal`),
    });
    lag.reset();
    cpu = process.cpuUsage();
    lookedAt = performance.now();
  }, everyMs);
  return {
    stop() {
      clearInterval(timer);
      unsubscribe();
      lag.disable();
    },
  };
}

/** Where the system does not show them, there is nothing to see. */
function countDescriptors(): number {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return 0;
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
