/** The other thread of `watchdog.ts`: it loads the database only once it has to. */
import { writeSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import type { Overdue } from "./delegations/recovery/logged-time.ts";
import type { StoreOptions } from "./open-store.ts";
import type { Store } from "./ports/store.ts";

export interface WatchdogTask {
  /** Grows while the watched thread gets its turns. */
  readonly beats: Int32Array;
  readonly beatMs: number;
  /** The worker whose delegations are watched. */
  readonly worker: string;
  readonly database: string;
  readonly store: Omit<StoreOptions, "clock">;
}

/** A loop may be slow for so many beats. Counted, so that a machine that slept has missed none. */
const missesAllowed = 4;
/** What is out of time gets as much again from the deadline's own timer. */
const graceMs = 1000;
/** The process ends even when the database does not answer. */
const writeMs = 2500;

const { beatMs, beats, database, store: options, ...task } = workerData as WatchdogTask;
let { worker } = task;
let seen = -1;
let misses = 0;
let wallAtBeat = Date.now();
let steadyAtBeat = performance.now();
let isLooking = false;

setInterval(count, beatMs);
parentPort?.on("message", (name: string) => {
  worker = name;
});

function count(): void {
  const beat = Atomics.load(beats, 0);
  if (beat !== seen) {
    seen = beat;
    misses = 0;
    wallAtBeat = Date.now();
    steadyAtBeat = performance.now();
    return;
  }
  misses += 1;
  if (misses % missesAllowed !== 0 || isLooking) return;
  isLooking = true;
  // A database that cannot be had now may be had a second later.
  void look()
    .catch(() => undefined)
    .finally(() => {
      isLooking = false;
    });
}

async function look(): Promise<void> {
  const { openStore } = await import("./open-store.ts");
  const store = await openStore(options);
  try {
    await judge(store);
  } finally {
    await store.close();
  }
}

async function judge(store: Store): Promise<void> {
  const { findOverdue } = await import("./delegations/recovery/logged-time.ts");
  const standstill = { since: wallAtBeat, ms: performance.now() - steadyAtBeat };
  const overdue = await findOverdue(store, worker, standstill, graceMs);
  if (overdue.length === 0) return;
  const timeLimit = new Promise((resolve) => setTimeout(resolve, writeMs));
  await Promise.race([closeAll(store, overdue).catch(() => undefined), timeLimit]);
  // The event loop moves again: it has read these closings as it reads those of any other process, and continues with the rest.
  if (Atomics.load(beats, 0) !== seen) return;
  await endProcesses(overdue);
  const names = overdue.map(({ delegationId }) => delegationId).join(", ");
  writeSync(
    2,
    `mandate: ${names} ran out of time while something kept this process from doing anything else. The process is ended; its other work is recovered when mandate is started again.\n`,
  );
  process.kill(process.pid, "SIGKILL");
}

async function closeAll(store: Store, overdue: readonly Overdue[]): Promise<void> {
  const { cancelStored } = await import("./delegations/ends/cancel-stored.ts");
  for (const { delegationId, runId, totalMs } of overdue) {
    const cause = { code: "total_deadline", ms: totalMs, blocked: true } as const;
    // A closed delegation repeats no call, so this store knows no tools.
    await cancelStored({ store, toolbox: { get: () => undefined } }, runId, delegationId, cause);
  }
}

/** What ends with our process ends in a moment; the rest is found by its mark. */
async function endProcesses(overdue: readonly Overdue[]): Promise<void> {
  if (options.database === ":memory:") return;
  const { markedProcesses } = await import("./workspaces/delegation-mark.ts");
  const { signalProcess } = await import("./workspaces/delegation-mark.ts");
  const marked = markedProcesses(database);
  for (const { delegationId } of overdue) {
    for (const pid of marked.get(delegationId) ?? []) signalProcess(pid, "SIGKILL");
  }
}
