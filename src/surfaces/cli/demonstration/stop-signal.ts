import { exitCode } from "../exit-code.ts";
import type { Io } from "../io.ts";

/**
 * Ctrl-C and signals of the system while something is served. It listens from the beginning: what
 * arrives while the demonstration is at work is obeyed there, and here afterwards. Once it `holds`,
 * the second one leaves at once.
 */
export class StopSignal {
  readonly #controller = new AbortController();
  readonly release: () => void;
  holds = false;

  constructor(io: Io) {
    this.release = io.onSignal(() => {
      if (this.holds && this.signal.aborted) io.leave(exitCode.interrupted);
      this.#controller.abort();
    });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get arrived(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.signal.aborted) resolve();
    else this.signal.addEventListener("abort", () => resolve(), { once: true });
    return promise;
  }
}
