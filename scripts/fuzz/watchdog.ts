import { Worker } from "node:worker_threads";

/**
 * A case that never gives the event loop back can be stopped by nobody in its thread. Another thread
 * sees that no case begins any more, says which one it was, and ends the process.
 */
export class Watchdog implements Disposable {
  readonly #state = new BigInt64Array(new SharedArrayBuffer(24));
  readonly #worker: Worker;

  constructor(target: string, mostMs: number) {
    this.#worker = new Worker(program, {
      eval: true,
      workerData: { state: this.#state, target, mostMs },
    });
    this.#worker.unref();
  }

  begin(seed: number, index: number): void {
    Atomics.store(this.#state, 1, BigInt(seed));
    Atomics.store(this.#state, 2, BigInt(index));
    Atomics.add(this.#state, 0, 1n);
  }

  [Symbol.dispose](): void {
    void this.#worker.terminate();
  }
}

const program = `
const { workerData: { state, target, mostMs } } = require("node:worker_threads");
const { writeSync } = require("node:fs");
let known = 0n;
setInterval(() => {
  const cases = Atomics.load(state, 0);
  if (cases !== known || cases === 0n) { known = cases; return; }
  const [seed, path] = [Atomics.load(state, 1), Atomics.load(state, 2)];
  writeSync(2, "\\nFAILED " + target + ": a case has not ended after " + mostMs + " ms\\n" +
    "again: npm run fuzz -- --only " + target + " --seed=" + seed + " --path " + path + "\\n");
  process.kill(process.pid, "SIGKILL");
}, mostMs);
`;
