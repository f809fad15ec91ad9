import { Worker } from "node:worker_threads";

const thread = `
  const fs = require("node:fs");
  const { workerData } = require("node:worker_threads");
  const { place, shared } = workerData;
  const state = new Int32Array(shared);
  const attempt = (act) => { try { act(); } catch {} };
  while (Atomics.load(state, 0) === 0) { BODY; Atomics.add(state, 1, 1); }
`;

/**
 * Does a thing over and over while another thread does something to the same place, as fast as it
 * can: `fs` and `place` are at hand in `body`, and `attempt`, for what may fail. It ends when both
 * have done theirs `rounds` times, and `isEnough` says so.
 */
export async function repeatBeside(
  body: string,
  place: string,
  work: () => Promise<void> | void,
  rounds: number,
  isEnough: () => boolean = () => true,
): Promise<void> {
  const shared = new SharedArrayBuffer(8);
  const state = new Int32Array(shared);
  const worker = new Worker(thread.replace("BODY", body), {
    eval: true,
    workerData: { place, shared },
  });
  const ended = new Promise<void>((resolve, reject) => {
    worker.once("exit", () => resolve());
    worker.once("error", reject);
  });
  await new Promise((online) => worker.once("online", online));
  try {
    const others = () => Atomics.load(state, 1);
    for (let round = 0; round < rounds || others() < rounds || !isEnough(); round += 1) {
      await work();
    }
  } finally {
    Atomics.store(state, 0, 1);
    await ended;
  }
}
