import { type Clock, systemClock, type Timer } from "../../../ports/clock.ts";

/**
 * What models say while they say it, on its way from a runtime to a hub. A runtime is given `hear`
 * as its `onDelta`, before there is a hub; until then, and while nobody listens, it is let go of.
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

  /** Tells what was gathered, before something happens that comes after it. */
  flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const [delegationId, text] of this.#pending) this.#tell?.(delegationId, text);
    this.#pending.clear();
  }
}

/** A model says a word at a time: many of them make one frame, sooner than an eye notices. */
const gatherMs = 40;
