/** What one agent depends on and has not been heard of yet: appends, by whomever they were made. */
export class UnsettledAppends {
  /** How many there were so far. */
  count = 0;
  #unsettled: Promise<unknown>[] = [];
  #settling: Promise<unknown> | null = null;
  #refused: unknown = null;

  add(append: Promise<unknown>): void {
    this.count++;
    // Nearly always one: a list that is made for it holds no room for more.
    if (this.#unsettled.length === 0) this.#unsettled = [append];
    else this.#unsettled.push(append);
    append.catch(this.breakOff);
  }

  /** What follows from an append that was not accepted must not be accepted either. */
  throwIfRefused(): void {
    if (this.#refused !== null) throw this.#refused;
  }

  /** Why something of it was not accepted; null: everything was, so far. */
  get refusal(): unknown {
    return this.#refused;
  }

  /** Nothing that concerns the agent is on its way any more, accepted or not. */
  async quiet(): Promise<void> {
    await Promise.allSettled([...this.#unsettled, this.#settling]);
  }

  /** Everything so far is on disk; throws when some of it was refused. */
  async durable(): Promise<void> {
    const unsettled = this.#unsettled;
    // Whoever comes while another waits waits for the same.
    if (unsettled.length === 0) {
      await this.#settling;
      return;
    }
    this.#unsettled = [];
    const [only = nothingYet] = unsettled;
    const settling = unsettled.length === 1 ? only : Promise.all(unsettled);
    this.#settling = settling;
    await settling;
    if (this.#settling === settling) this.#settling = null;
  }

  /** Nothing more that the agent's work does is written. Its end is: that is written over its head. */
  readonly breakOff = (error: unknown): void => {
    this.#refused ??= error;
  };

  /** The agent starts from its log again: what was refused is no longer part of it. */
  startOver(): void {
    this.#refused = null;
    this.#unsettled = [];
    this.#settling = null;
  }
}

const nothingYet: Promise<unknown> = Promise.resolve();
