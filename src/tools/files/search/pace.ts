import { setImmediate } from "node:timers/promises";

/** How long others may have to wait for their turn. */
const longestTurnMs = 8;

/** Keeps long work from holding up the process: pauses when its turn is over, stops when told to. */
export class Pace {
  readonly signal: AbortSignal;
  #turnEnds = performance.now() + longestTurnMs;

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
    this.#turnEnds = performance.now() + longestTurnMs;
  }
}
