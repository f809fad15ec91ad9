import type { CloseReason } from "../events/close-reason.ts";
import { Stopped, Suspended } from "./ends/ending.ts";

/**
 * Work that others may end, cut short or have rest. Whatever it waits for is given up at that
 * moment; what it does between two waits is never torn apart.
 */
export abstract class Interruptible {
  stopReason: Stopped | null = null;
  /** What ended the attempt that is under way, though another one may follow. */
  cut: Stopped | null = null;
  #listeners: Set<(reason: Stopped) => void> | null = null;

  abstract readonly status: string;

  /** Ends its work at the next moment it waits for anything. The first reason counts. */
  stop(code: CloseReason, message: string): void {
    if (this.stopReason !== null || this.status === "closed") return;
    this.stopReason = new Stopped(code, message);
    this.#interrupt(this.stopReason);
  }

  /** Ends what the attempt is doing, at the next moment it waits for anything. */
  cutAttempt(message: string): void {
    if (this.interruption !== null || this.status === "closed") return;
    this.cut = new Stopped("timeout", message);
    this.#interrupt(this.cut);
  }

  /** Has it rest at the next moment it waits for anything. It can still be stopped. */
  suspend(reason: Suspended): void {
    if (this.stopReason !== null || this.status === "closed") return;
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
    let timer: NodeJS.Timeout | undefined;
    try {
      await this.interruptible(
        new Promise<void>((resolve) => {
          timer = setTimeout(resolve, ms);
        }),
      );
    } finally {
      clearTimeout(timer);
    }
  }

  /** It is over: nobody has to hear of an interruption any more. */
  protected forgetListeners(): void {
    this.#listeners = null;
  }

  #interrupt(reason: Stopped): void {
    const listeners = this.#listeners;
    this.#listeners = null;
    for (const listener of listeners ?? []) listener(reason);
  }
}
