import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { verifyHome } from "../../../src/application/verify-home.ts";
import type { Append, Store } from "../../../src/ports/store.ts";
import { lagProbe } from "../../run/lag-probe.ts";
import { openCrew, startOf } from "../open-crew.ts";
import { openFolder } from "../open-folder.ts";
import { type Percentiles, percentilesOf } from "../percentiles.ts";

export interface ChildrenMeasure {
  readonly synchronous: "full" | "normal";
  readonly children: number;
  readonly seconds: number;
  readonly events: number;
  readonly eventsPerSecond: number;
  /** The second with the fewest, of those in which all were at work. */
  readonly worstSecond: number;
  /** Milliseconds, from the call to its acknowledgement. */
  readonly append: Percentiles;
  readonly lag: { readonly p99: number; readonly max: number };
  readonly rssMb: number;
  readonly violations: number;
}

/** Between two answers of a child's model: so they ask for about 400 turns in a second, by 200. */
const latencyMs = 500;

/** So many children at work at the same time, for so long, each event of theirs timed. */
export async function measureChildren(
  synchronous: "full" | "normal",
  children: number,
  ms: number,
): Promise<ChildrenMeasure> {
  const folder = openFolder("children");
  try {
    const runtime = await openCrew({ folder, synchronous, maxConcurrent: children + 1 });
    const { engine, store } = runtime;
    const turns = Math.ceil(ms / latencyMs) + 4;
    // Those who begin together would ask together: a warm-up run spreads nothing, time does.
    const run = await engine.startRun(startOf({ children, turns, latencyMs }));
    await untilAtWork(store, run.runId, children);
    const append = timeAppends(store);
    const perSecond = countBySecond(store);
    const stopProbe = lagProbe();
    const began = performance.now();
    await delay(ms);
    const seconds = (performance.now() - began) / 1000;
    const lag = stopProbe();
    const counts = perSecond.stop();
    const times = append.stop();
    const rssMb = process.memoryUsage.rss() / 1024 / 1024;
    const { status } = await run.result;
    if (status !== "completed") throw new Error(`The run of ${children} children ${status}.`);
    const places = { home: join(folder, "home"), database: join(folder, "home/mandate.db") };
    const { violations } = await verifyHome(store, { places });
    await runtime.close();
    const events = counts.reduce((sum, count) => sum + count, 0);
    return {
      ...{ synchronous, children, seconds, events, lag, rssMb },
      eventsPerSecond: events / seconds,
      worstSecond: Math.min(...counts.slice(0, Math.floor(seconds))),
      append: percentilesOf(times),
      violations: violations.length,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function untilAtWork(store: Store, runId: string, children: number): Promise<void> {
  for (;;) {
    const run = await store.readRun(runId);
    const delegations = [...(run?.delegations.values() ?? [])];
    if (delegations.filter(({ status }) => status === "running").length > children) return;
    await delay(20);
  }
}

function timeAppends(store: Store): { stop(): readonly number[] } {
  const own = store.append;
  const times: number[] = [];
  store.append = (append: Append) => {
    const calledAt = performance.now();
    const done = own.call(store, append);
    // A refusal is nobody's latency.
    done.then(
      () => times.push(performance.now() - calledAt),
      () => undefined,
    );
    return done;
  };
  return {
    stop() {
      store.append = own;
      return times;
    },
  };
}

function countBySecond(store: Store): { stop(): readonly number[] } {
  const counts: number[] = [];
  const began = performance.now();
  const unsubscribe = store.subscribe((events) => {
    const second = Math.floor((performance.now() - began) / 1000);
    counts[second] = (counts[second] ?? 0) + events.length;
  });
  return {
    stop() {
      unsubscribe();
      return Array.from(counts, (count) => count ?? 0);
    },
  };
}
