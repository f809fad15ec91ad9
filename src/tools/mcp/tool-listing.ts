import type { ListedTools } from "./list-tools.ts";

/**
 * A server's list of tools. Those who ask while it is on its way share the answer; it is kept only
 * where the server would say that it has changed, and forgotten when it does.
 */
export class ToolListing {
  readonly #ask: () => Promise<Asked>;
  #current: Promise<ListedTools> | null = null;

  constructor(ask: () => Promise<Asked>) {
    this.#ask = ask;
  }

  read(): Promise<ListedTools> {
    if (this.#current !== null) return this.#current;
    const current = this.#ask().then(
      ({ listed, isLasting }) => {
        if (!isLasting && this.#current === current) this.#current = null;
        return listed;
      },
      (error) => {
        if (this.#current === current) this.#current = null;
        throw error;
      },
    );
    this.#current = current;
    return current;
  }

  /** Also one that is on its way: it may be older than what we were just told. */
  forget(): void {
    this.#current = null;
  }
}

interface Asked {
  readonly listed: ListedTools;
  readonly isLasting: boolean;
}
