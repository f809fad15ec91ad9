import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { verifyHome } from "../../../src/application/verify-home.ts";
import type { Store } from "../../../src/ports/store.ts";
import type { Runtime } from "../../../src/runtime.ts";
import { lagProbe } from "../../run/lag-probe.ts";
import { openCrew, startOf } from "../open-crew.ts";
import { openFolder } from "../open-folder.ts";

export interface QueueMeasure {
  readonly what: string;
  readonly queued: number;
  /** Until the last one had ended. */
  readonly seconds: number;
  /** The delegations that closed, and below, how many of them closed twice or never. */
  readonly closed: number;
  readonly wrong: number;
  /** Megabytes held after a collection, at the beginning, in tenths of the work, and at the end. */
  readonly heapCurve: readonly number[];
  readonly rssPeakMb: number;
  readonly lag: { readonly p99: number; readonly max: number };
  readonly violations: number;
}

export const maxConcurrent = 50;
/** So that some work while others wait, and the whole takes no hour. */
const latencyMs = 5;

/** One run that asks for all of them in one turn. */
export function measureOneRun(queued: number): Promise<QueueMeasure> {
  return measure(`one run that asks for ${queued}`, queued, async ({ engine }) => {
    const run = await engine.startRun(startOf({ children: queued, turns: 1, latencyMs }));
    return [run.result];
  });
}

/** So many runs, as programs and people start them: each is its own. */
export function measureManyRuns(queued: number): Promise<QueueMeasure> {
  return measure(`${queued} runs`, queued, async ({ engine }) => {
    const results: Promise<unknown>[] = [];
    for (let count = 0; count < queued; count += 1) {
      const task = JSON.stringify({ children: 0, turns: 1, latencyMs });
      results.push((await engine.startRun({ task, profile: "worker" })).result);
    }
    return results;
  });
}

async function measure(
  what: string,
  queued: number,
  start: (runtime: Runtime) => Promise<readonly Promise<unknown>[]>,
): Promise<QueueMeasure> {
  const folder = openFolder("queue");
  try {
    const runtime = await openCrew({ folder, synchronous: "normal", maxConcurrent });
    const { store } = runtime;
    const ends = countEnds(store, queued);
    const stopProbe = lagProbe();
    const began = performance.now();
    await Promise.all(await start(runtime));
    const seconds = (performance.now() - began) / 1000;
    const lag = stopProbe();
    await delay(50);
    const { closed, heapCurve, rssPeakMb, wrong } = ends.stop();
    const places = { home: join(folder, "home"), database: join(folder, "home/mandate.db") };
    const { violations } = await verifyHome(store, { places });
    await runtime.close();
    return {
      ...{ what, queued, seconds, closed, wrong, heapCurve, rssPeakMb, lag },
      violations: violations.length,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Who ended how often, and what is held while they do. */
function countEnds(store: Store, queued: number) {
  const ends = new Map<string, number>();
  const heapCurve = [heldMb()];
  let rssPeakMb = 0;
  const unsubscribe = store.subscribe((events) => {
    for (const { payload, sub_agent_id: id = "", type } of events) {
      if (type === "agent.subagent_created") ends.set(id, 0);
      if (type !== "agent.subagent_closed") continue;
      ends.set(id, (ends.get(id) ?? 0) + 1);
      if (payload.final_status !== "completed") ends.set(id, 2);
    }
  });
  let last = 0;
  const timer = setInterval(() => {
    rssPeakMb = Math.max(rssPeakMb, process.memoryUsage.rss() / 1024 / 1024);
    let closed = 0;
    for (const count of ends.values()) closed += Math.min(count, 1);
    if (closed - last < queued / 10) return;
    last = closed;
    heapCurve.push(heldMb());
  }, 200);
  return {
    stop() {
      clearInterval(timer);
      unsubscribe();
      heapCurve.push(heldMb());
      const counts = [...ends.values()];
      const closed = counts.filter((count) => count > 0).length;
      const wrong = counts.filter((count) => count !== 1).length + Math.max(0, queued - closed);
      return { closed, wrong, heapCurve, rssPeakMb };
    },
  };
}

function heldMb(): number {
  globalThis.gc?.();
  return Math.round(process.memoryUsage().heapUsed / 1024 / 1024);
}
