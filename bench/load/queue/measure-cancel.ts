import { rmSync } from "node:fs";
import { join } from "node:path";
import { verifyHome } from "../../../src/application/verify-home.ts";
import { isOpen } from "../../../src/events/delegation.ts";
import { openCrew, startOf } from "../open-crew.ts";
import { openFolder } from "../open-folder.ts";
import { maxConcurrent } from "./measure-queue.ts";

export interface CancelMeasure {
  readonly queued: number;
  /** How many were still open when it was called. */
  readonly open: number;
  /** Until the call was answered, and until the run had ended with everybody in it. */
  readonly answeredMs: number;
  readonly endedMs: number;
  /** Requests to the model that were made afterwards. */
  readonly startedAfter: number;
  readonly violations: number;
}

/** The whole is cancelled when half of it is done. */
export async function measureCancel(queued: number): Promise<CancelMeasure> {
  const folder = openFolder("cancel");
  try {
    const runtime = await openCrew({ folder, synchronous: "normal", maxConcurrent });
    const { engine, store } = runtime;
    const half = Promise.withResolvers<void>();
    let closed = 0;
    let isCancelled = false;
    let startedAfter = 0;
    store.subscribe((events) => {
      for (const { type } of events) {
        if (type === "agent.subagent_closed") closed += 1;
        if (isCancelled && type === "agent.budget_reserved") startedAfter += 1;
      }
      if (closed >= queued / 2) half.resolve();
    });
    const run = await engine.startRun(startOf({ children: queued, turns: 1, latencyMs: 5 }));
    await half.promise;
    const state = await store.readRun(run.runId);
    const open = [...(state?.delegations.values() ?? [])].filter(isOpen).length;
    const began = performance.now();
    const answered = engine.cancel(run.runId, "Enough.");
    await answered;
    isCancelled = true;
    const answeredMs = performance.now() - began;
    await run.result;
    const endedMs = performance.now() - began;
    const places = { home: join(folder, "home"), database: join(folder, "home/mandate.db") };
    const { violations } = await verifyHome(store, { places });
    await runtime.close();
    return { queued, open, answeredMs, endedMs, startedAfter, violations: violations.length };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
