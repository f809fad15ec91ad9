import { setImmediate } from "node:timers/promises";

/** The longest time that this work keeps the event loop before other work runs. */
const longestSliceMs = 8;

/** Keeps long work from blocking the process: pauses after each slice, stops when its signal aborts. */
export class Pace {
  readonly signal: AbortSignal;
  #turnEnds = performance.now() + longestSliceMs;

  constructor(signal: AbortSignal) {
    this.signal = signal;
  }

  get isOver(): boolean {
    return performance.now() >= this.#turnEnds;
  }

  async pause(): Promise<void> {
    this.signal.throwIfAborted();
    await setImmediate();
    this.signal.throwIfAborted();
    this.#turnEnds = performance.now() + longestSliceMs;
  }
}
