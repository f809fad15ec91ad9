import { exitCode } from "./exit-code.ts";
import type { Io } from "./io.ts";

/**
 * What becomes of Ctrl-C and of signals while work goes on. The first Ctrl-C interrupts, which is
 * recorded and can be resumed: it cancels, but for those whose contracts say otherwise. The second
 * leaves at once. A polite signal from the system cancels nothing: the run is interrupted, and can be
 * resumed.
 */
export class Interruption {
  /** The exit code, once the work is to end for that reason. */
  readonly code: Promise<number>;
  /** Somebody asked to stop when what this is about was over: what else is at work is left. */
  readonly left: Promise<void>;
  readonly release: () => void;
  #isOver = false;
  #cancelling: Promise<number | undefined> | undefined;

  /** `cancel` says whether there was still something to cancel. */
  constructor(io: Io, cancel: () => Promise<boolean>) {
    const { promise, resolve } = Promise.withResolvers<number>();
    const left = Promise.withResolvers<void>();
    this.code = promise;
    this.left = left.promise;
    this.release = io.onSignal((signal) => {
      if (this.#isOver) return left.resolve();
      if (signal !== "SIGINT") return resolve(signal === "SIGTERM" ? 143 : 129);
      if (this.#cancelling !== undefined) return io.leave(exitCode.interrupted);
      // Even if it could not be recorded, the person wants to leave.
      const cancelling = cancel().catch(() => true);
      this.#cancelling = cancelling.then((isCancelled) => {
        if (!isCancelled) return undefined;
        resolve(exitCode.interrupted);
        return exitCode.interrupted;
      });
    });
  }

  /** What this is about has ended, and there is nothing left to cancel. */
  end(): void {
    this.#isOver = true;
  }

  /** The exit code of a cancellation under way; undefined when there is none, or it came too late. */
  get pending(): Promise<number | undefined> {
    return this.#cancelling ?? Promise.resolve(undefined);
  }
}
