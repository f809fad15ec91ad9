interface Waiting<Item> {
  readonly item: Item;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Writes together what comes together: five hundred that come in one moment are paid for as a few.
 * What arrives while some are being written waits for the next group.
 */
export class GroupLine<Item> {
  readonly #most: number;
  readonly #write: (items: readonly Item[]) => Promise<unknown>;
  #waiting: Waiting<Item>[] = [];
  #isWriting = false;

  /** `write` succeeds for all of a group, or fails for all of it. */
  constructor(most: number, write: (items: readonly Item[]) => Promise<unknown>) {
    this.#most = most;
    this.#write = write;
  }

  add(item: Item): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (this.#isWriting) return;
      this.#isWriting = true;
      setImmediate(() => void this.#writeAll());
    });
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const together = this.#waiting.splice(0, this.#most);
      try {
        await this.#write(together.map(({ item }) => item));
        for (const { resolve } of together) resolve();
      } catch (error) {
        for (const { reject } of together) reject(error);
      }
    }
    this.#isWriting = false;
  }
}
