import type { Cause } from "../events/cause.ts";
import type { Clock, Timer } from "../ports/clock.ts";
import { Stopped, Suspended } from "./ends/ending.ts";

/**
 * Work that others may end, cut short or have rest. Whatever it waits for is given up at that
 * moment; what it does between two waits is never torn apart.
 */
export abstract class Interruptible {
  stopReason: Stopped | null = null;
  /** What ended the attempt that is under way, though another one may follow. */
  cut: Stopped | null = null;
  readonly #clock: Clock;
  #listeners: Set<(reason: Stopped) => void> | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  protected abstract readonly isOver: boolean;
  protected abstract readonly mayRetry: boolean;

  /** Ends its work at the next moment it waits for anything. The first reason counts. */
  stop(cause: Cause): void {
    if (this.stopReason !== null || this.isOver) return;
    this.stopReason = new Stopped(cause);
    this.#interrupt(this.stopReason);
  }

  /** The time of its attempt is over: another one follows, unless others still work for this one. */
  endAttempt(cause: Cause): void {
    if (this.mayRetry) this.cutAttempt(cause);
    else this.stop(cause);
  }

  /** Ends what the attempt is doing, at the next moment it waits for anything. */
  cutAttempt(cause: Cause): void {
    if (this.interruption !== null || this.isOver) return;
    this.cut = new Stopped(cause);
    this.#interrupt(this.cut);
  }

  /** Has it rest at the next moment it waits for anything. It can still be stopped. */
  suspend(reason: Suspended): void {
    if (this.stopReason !== null || this.isOver) return;
    this.cut = reason;
    this.#interrupt(reason);
  }

  /** Set while it rests, or is about to. */
  get suspension(): Suspended | null {
    return this.cut instanceof Suspended && this.stopReason === null ? this.cut : null;
  }

  /** It was suspended and has come to rest: nothing more is written of it by its own work. */
  get isParked(): boolean {
    return this.cut instanceof Suspended && this.cut.isAtRest;
  }

  /** Its caller stopped, and it ends when those below it have. */
  get isInterrupted(): boolean {
    return (this.suspension?.closesAs ?? null) !== null;
  }

  /** Why nothing goes on at this moment: it was stopped, its attempt was cut, or it rests. */
  get interruption(): Stopped | null {
    return this.stopReason ?? this.cut;
  }

  throwIfStopped(): void {
    if (this.interruption !== null) throw this.interruption;
  }

  /** Waits for something outside, but not beyond being stopped. */
  interruptible<Value>(waiting: Promise<Value>): Promise<Value> {
    if (this.interruption !== null) return Promise.reject(this.interruption);
    this.#listeners ??= new Set();
    const listeners = this.#listeners;
    return new Promise((resolve, reject) => {
      listeners.add(reject);
      waiting.then(
        (value) => {
          listeners.delete(reject);
          resolve(value);
        },
        (error: unknown) => {
          listeners.delete(reject);
          reject(error);
        },
      );
    });
  }

  onStop(listener: (reason: Stopped) => void): () => void {
    if (this.interruption !== null) listener(this.interruption);
    this.#listeners ??= new Set();
    const listeners = this.#listeners;
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  async sleep(ms: number): Promise<void> {
    let timer: Timer | undefined;
    try {
      await this.interruptible(
        new Promise<void>((resolve) => {
          timer = this.#clock.after(ms, resolve);
        }),
      );
    } finally {
      timer?.cancel();
    }
  }

  /** It is over: nobody has to hear of an interruption any more. */
  forgetListeners(): void {
    this.#listeners = null;
  }

  #interrupt(reason: Stopped): void {
    const listeners = this.#listeners;
    this.#listeners = null;
    for (const listener of listeners ?? []) listener(reason);
  }
}
