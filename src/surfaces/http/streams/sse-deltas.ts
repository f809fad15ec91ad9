import { type Clock, systemClock, type Timer } from "../../../ports/clock.ts";

/**
 * Passes streamed model output from a runtime to the event hub. The runtime gets `hear` as its
 * `onDelta` before the hub exists; without a listening client the output is dropped.
 */
export class DeltaHub {
  readonly #pending = new Map<string, string>();
  readonly #clock: Clock;
  #timer: Timer | undefined;
  #tell: ((delegationId: string, text: string) => void) | undefined;
  #isWanted: () => boolean = () => false;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  readonly hear = (delegationId: string, text: string): void => {
    if (!this.#isWanted()) return;
    this.#pending.set(delegationId, (this.#pending.get(delegationId) ?? "") + text);
    this.#timer ??= this.#clock.after(gatherMs, () => this.flush()).unref();
  };

  connect(isWanted: () => boolean, tell: (delegationId: string, text: string) => void): void {
    this.#isWanted = isWanted;
    this.#tell = tell;
  }

  /** Sends the collected output, before an event that happened after it. */
  flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const [delegationId, text] of this.#pending) this.#tell?.(delegationId, text);
    this.#pending.clear();
  }
}

/** Output arrives word by word; it is collected for so long into one frame. */
const gatherMs = 40;
