import type { LiveDelegation } from "../live-delegation.ts";

/**
 * The calls of one turn that are under way. Gives the agent's slot back once every call that is
 * still open only waits, and knows when all are done. One object with few handlers: three hundred
 * calls may be open at once, each waiting for a child.
 */
export class OpenCalls {
  readonly #agent: LiveDelegation;
  /** One more than there are, until all have begun. */
  #busy = 1;
  #waiting = 0;
  #error: unknown;
  #hasFailed = false;
  #settle: ((hasFailed: boolean) => void) | undefined;

  constructor(agent: LiveDelegation) {
    this.#agent = agent;
  }

  /** `waits`: it waits for others, and needs no slot for that. */
  follow(call: Promise<unknown>, waits: boolean): void {
    if (waits) this.#waiting++;
    else this.#busy++;
    if (waits) call.then(this.#waited, this.#failedWaiting);
    else call.then(this.#worked, this.#failedWorking);
    // The call has begun by now, and may already be asking.
    this.#consider();
  }

  /** When all are done, or the first has failed; then it throws what that one threw. */
  async finished(): Promise<void> {
    this.#busy--;
    this.#consider();
    const isOpen = this.#busy + this.#waiting > 0;
    if (isOpen && !this.#hasFailed) {
      await new Promise<boolean>((resolve) => {
        this.#settle = resolve;
      });
    }
    if (this.#hasFailed) throw this.#error;
  }

  /** A person may take an hour: until then the slot is somebody else's. */
  async whileAsking<Outcome>(asking: Promise<Outcome>): Promise<Outcome> {
    this.#busy--;
    this.#waiting++;
    this.#consider();
    try {
      return await asking;
    } finally {
      this.#waiting--;
      this.#busy++;
      const back = this.#agent.process.time.takeSlot();
      if (back) await this.#agent.work.interruptible(back);
    }
  }

  readonly #waited = (): void => {
    this.#waiting--;
    this.#ended();
  };

  readonly #worked = (): void => {
    this.#busy--;
    this.#ended();
  };

  readonly #failedWaiting = (error: unknown): void => {
    this.#fail(error);
    this.#waited();
  };

  readonly #failedWorking = (error: unknown): void => {
    this.#fail(error);
    this.#worked();
  };

  #fail(error: unknown): void {
    if (!this.#hasFailed) this.#error = error;
    this.#hasFailed = true;
    this.#settle?.(true);
  }

  #ended(): void {
    if (this.#busy + this.#waiting === 0) this.#settle?.(this.#hasFailed);
    else this.#consider();
  }

  #consider(): void {
    if (this.#busy === 0 && this.#waiting > 0) this.#agent.process.time.giveSlot();
  }
}
