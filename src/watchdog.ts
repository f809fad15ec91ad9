/** Ends this process when its event loop is blocked beyond the deadline of a delegation. */
import { Worker } from "node:worker_threads";
import type { StoreOptions } from "./open-store.ts";
import type { Store } from "./ports/store.ts";
import type { WatchdogTask } from "./watchdog-thread.ts";

export interface Watchdog {
  close(): Promise<void>;
}

/** The interval at which the watched thread shows that it is alive. */
const beatMs = 250;

// The type keeps both sides in step, and makes the thread, which is only named here, part of the
// build.
const extension = import.meta.url.endsWith(".ts") ? ".ts" : ".js";
const program = new URL(`./watchdog-thread${extension}`, import.meta.url);

/**
 * Deadlines are timers, and a tool that never lets go of the event loop keeps every timer from going
 * off. So another thread looks whether this one still moves. Where it does not, and a delegation of
 * this process is out of time, that is closed in the log as a timeout and the process is killed with
 * what it started; the next process recovers the rest, as after any other crash.
 */
export function startWatchdog(
  watched: Pick<Store, "ownership">,
  database: string,
  store: Omit<StoreOptions, "clock">,
): Watchdog {
  const beats = new Int32Array(new SharedArrayBuffer(4));
  let { worker } = watched.ownership;
  const task: WatchdogTask = { beats, beatMs, worker, database, store: plain(store) };
  const thread = new Worker(program, {
    workerData: task,
    name: "mandate-watchdog",
    resourceLimits: { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 4 },
  });
  const timer = setInterval(() => {
    Atomics.add(beats, 0, 1);
    // Declared dead, this process continues as a new worker; the old one owns nothing any more.
    if (watched.ownership.worker === worker) return;
    worker = watched.ownership.worker;
    thread.postMessage(worker);
  }, beatMs).unref();
  thread.unref();
  // Without a watcher thread, the process works unwatched.
  thread.on("error", () => clearInterval(timer));
  return {
    async close() {
      clearInterval(timer);
      await thread.terminate();
    },
  };
}

/** Only what can be handed to a thread; an environment may be more than its variables. */
function plain({ environment = process.env, ...options }: Omit<StoreOptions, "clock">) {
  return { ...options, environment: { ...environment } };
}
