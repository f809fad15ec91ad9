import { fork } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { verifyHome } from "../../../src/application/verify-home.ts";
import { isOpen } from "../../../src/events/delegation.ts";
import { openStore } from "../../../src/open-store.ts";
import { openCrew } from "../open-crew.ts";
import { openFolder } from "../open-folder.ts";
import { maxConcurrent } from "./measure-queue.ts";
import type { QueueJob } from "./worker.ts";

export interface RecoveryMeasure {
  readonly what: string;
  /** Delegations that were open when the process was killed. */
  readonly open: number;
  /** The process's next life: until it is open, and until everybody was taken up. */
  readonly openMs: number;
  readonly recoverMs: number;
  /** Runs that a second recovery took up, which should be none: it writes nothing then. */
  readonly takenTwice: number;
  /** Until everybody had ended, after all. */
  readonly endedMs: number;
  readonly violations: number;
}

/** Killed with nearly everything still queued, and taken up by the next process. */
export async function measureRecovery(
  what: string,
  runs: number,
  children: number,
): Promise<RecoveryMeasure> {
  const folder = openFolder("recovery");
  const options = { folder, synchronous: "normal", maxConcurrent } as const;
  try {
    await workUntilKilled({ ...options, runs, job: { children, turns: 1, latencyMs: 20 } });
    const left = await countOpen(folder);
    const began = performance.now();
    const runtime = await openCrew(options);
    const openMs = performance.now() - began;
    const taken = await runtime.engine.recover();
    const recoverMs = performance.now() - began - openMs;
    if (taken.length !== left.runs) {
      throw new Error(`${taken.length} of ${left.runs} runs were recovered.`);
    }
    const second = await openCrew(options);
    const again = await second.engine.recover();
    await second.close();
    await Promise.all(taken.map(({ result }) => result));
    const endedMs = performance.now() - began;
    const places = { home: join(folder, "home"), database: join(folder, "home/mandate.db") };
    const { violations } = await verifyHome(runtime.store, { places });
    await runtime.close();
    return {
      ...{ what, open: left.open, openMs, recoverMs, endedMs, takenTwice: again.length },
      violations: violations.length,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function workUntilKilled(job: QueueJob): Promise<void> {
  const child = fork(join(import.meta.dirname, "worker.ts"), [JSON.stringify(job)]);
  const [code, signal] = await once(child, "exit");
  if (signal !== "SIGKILL") throw new Error(`The process ended with ${code} and was not killed.`);
}

/** A store that only looks; whoever measures opens another one. */
async function countOpen(
  folder: string,
): Promise<{ readonly runs: number; readonly open: number }> {
  const store = await openStore({
    environment: { MANDATE_HOME: join(folder, "home"), HOME: folder },
  });
  let open = 0;
  const rows = await store.listRuns({ open: true, limit: 1_000_000 });
  for (const { id } of rows) {
    const run = await store.readRun(id);
    for (const delegation of run?.delegations.values() ?? []) if (isOpen(delegation)) open += 1;
  }
  await store.close();
  return { runs: rows.length, open };
}
