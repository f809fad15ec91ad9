import { availableParallelism } from "node:os";

/**
 * How many documents are read at once, over all agents of this process: each takes a core and up
 * to a gigabyte. The others wait their turn, in order, until their own signal ends it.
 */
const slots = Math.max(1, Math.min(4, availableParallelism()));
let taken = 0;
const waiting: (() => void)[] = [];

export async function withParserSlot<Result>(
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result> {
  await takeSlot(signal);
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next === undefined) taken -= 1;
    else next();
  }
}

function takeSlot(signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (taken < slots) {
    taken += 1;
    return Promise.resolve();
  }
  return new Promise((resolve, reject) => {
    const go = () => {
      signal.removeEventListener("abort", leave);
      resolve();
    };
    const leave = () => {
      waiting.splice(waiting.indexOf(go), 1);
      reject(signal.reason);
    };
    waiting.push(go);
    signal.addEventListener("abort", leave, { once: true });
  });
}
