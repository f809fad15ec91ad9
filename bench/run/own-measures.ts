import { setTimeout as delay, setImmediate as turn } from "node:timers/promises";
import { lagProbe } from "./lag-probe.ts";
import { type Counters, type Shape, scriptOf, single } from "./own-script.ts";
import { median } from "./report.ts";
import type { Host } from "./subject.ts";

export interface Effort {
  readonly measureMs: number;
  readonly warmUpMs: number;
}

type Numbers = Readonly<Record<string, number>>;

/** The measures of the peers' benchmark that our bars are about, as small as they can be. */
export const ownMeasures: Readonly<
  Record<string, (host: Host, effort: Effort) => Promise<Numbers>>
> = {
  overhead: (host, effort) => backToBack(host, single, effort),
  chain5: (host, effort) => backToBack(host, { ...single, depth: 5 }, effort),
  long200,
  fanout1000: (host) => fanOut(host, 1000),
  live300: (host) => liveHeap(host, 300),
};

interface Prepared {
  readonly counters: Counters;
  once(): Promise<void>;
}

async function prepare(host: Host, shape: Shape): Promise<Prepared> {
  const counters: Counters = { live: 0, peak: 0, stamps: null, barrier: null };
  const run = await host.build(scriptOf(shape, counters));
  return {
    counters,
    async once() {
      const text = await run("start the work");
      if (text !== "parent-ok") throw new Error(`the run ended with ${text}`);
    },
  };
}

async function backToBack(host: Host, shape: Shape, effort: Effort): Promise<Numbers> {
  const { once } = await prepare(host, shape);
  await loop(once, effort.warmUpMs);
  return loop(once, effort.measureMs);
}

async function loop(once: () => Promise<void>, ms: number): Promise<Numbers> {
  const cpuBefore = process.cpuUsage();
  const began = performance.now();
  let count = 0;
  for (let now = began; now - began < ms || count < 20; now = performance.now()) {
    await once();
    count += 1;
    if (count % 100 === 0) await turn();
  }
  const wall = performance.now() - began;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { n: count, us: (wall * 1000) / count, cpuUs: (user + system) / count };
}

async function long200(host: Host): Promise<Numbers> {
  const turns = 200;
  const { once, counters } = await prepare(host, { ...single, turns, payload: 1024 });
  for (let warm = 0; warm < 2; warm++) await once();
  const totals: number[] = [];
  const early: number[] = [];
  const late: number[] = [];
  for (let repetition = 0; repetition < 3; repetition++) {
    const stamps: number[] = [];
    counters.stamps = stamps;
    const began = performance.now();
    await once();
    totals.push(performance.now() - began);
    const steps = stamps.slice(1).map((stamp, index) => (stamp - (stamps[index] ?? stamp)) * 1000);
    early.push(median(steps.slice(10, 30)));
    late.push(median(steps.slice(turns - 20, turns)));
  }
  const [turn20Us, turn200Us] = [median(early), median(late)];
  return { totalMs: median(totals), turn20Us, turn200Us, growth: turn200Us / turn20Us };
}

async function warmUp(host: Host): Promise<void> {
  const { once } = await prepare(host, { ...single, width: 10 });
  for (let count = 0; count < 20; count++) await once();
}

async function fanOut(host: Host, width: number): Promise<Numbers> {
  await warmUp(host);
  const latencyMs = 50;
  const { once, counters } = await prepare(host, { ...single, width, latencyMs });
  await delay(50);
  globalThis.gc?.();
  const stop = lagProbe();
  const cpuBefore = process.cpuUsage();
  const began = performance.now();
  await once();
  const wall = performance.now() - began;
  const { user, system } = process.cpuUsage(cpuBefore);
  const { p99, max } = stop();
  const cpuMs = (user + system) / 1000;
  return {
    wall,
    ratio: wall / (4 * latencyMs),
    cpuMs,
    lagP99: p99,
    lagMax: max,
    peakLive: counters.peak,
  };
}

/** The heap that so many children hold while they wait for their last answer. */
async function liveHeap(host: Host, width: number): Promise<Numbers> {
  await warmUp(host);
  const { once, counters } = await prepare(host, { ...single, width });
  await delay(20);
  const before = heapAfterCollection();
  let arrived = 0;
  let kilobytes = Number.NaN;
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  counters.barrier = () => {
    arrived += 1;
    if (arrived === width) {
      setImmediate(() => {
        kilobytes = (heapAfterCollection() - before) / 1024 / width;
        open();
      });
    }
    return opened;
  };
  await once();
  return { live: arrived, heapKbPerChild: kilobytes };
}

function heapAfterCollection(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
