import { Worker } from "node:worker_threads";

const thread = `
  const fs = require("node:fs");
  const { workerData } = require("node:worker_threads");
  const { place, stop } = workerData;
  const stopped = new Int32Array(stop);
  const attempt = (act) => { try { act(); } catch {} };
  while (Atomics.load(stopped, 0) === 0) { BODY }
`;

/**
 * Does a thing over and over while another thread does something to the same place, as fast as it
 * can: `fs` and `place` are at hand in `body`, and `attempt`, for what may fail.
 */
export async function repeatBeside(
  body: string,
  place: string,
  work: () => Promise<void> | void,
  milliseconds = 700,
): Promise<void> {
  const stop = new SharedArrayBuffer(4);
  const worker = new Worker(thread.replace("BODY", body), {
    eval: true,
    workerData: { place, stop },
  });
  const ended = new Promise<void>((resolve, reject) => {
    worker.once("exit", () => resolve());
    worker.once("error", reject);
  });
  await new Promise((online) => worker.once("online", online));
  try {
    for (const end = Date.now() + milliseconds; Date.now() < end; ) await work();
  } finally {
    Atomics.store(new Int32Array(stop), 0, 1);
    await ended;
  }
}
