import type { ServerResponse } from "node:http";
import type { Clock } from "../../../ports/clock.ts";

/** The way to one client: whether it takes what it is sent, and when it is gone. */
export class SseConnection {
  readonly #outgoing: ServerResponse;
  readonly #clock: Clock;
  #blockedSince: number | null = null;
  #lastWriteAt = 0;
  #isClosed = false;
  #waiters: (() => void)[] = [];
  #onDrain: () => void = () => undefined;
  readonly #onClose: (() => void)[] = [];

  constructor(outgoing: ServerResponse, signal: AbortSignal, clock: Clock) {
    this.#outgoing = outgoing;
    this.#clock = clock;
    outgoing.on("drain", () => this.#drained());
    outgoing.on("close", () => this.#closed());
    // What goes wrong on the way closes it, and that is heard of.
    outgoing.on("error", () => undefined);
    signal.addEventListener("abort", () => this.end(), { once: true });
    if (signal.aborted || outgoing.destroyed) this.#isClosed = true;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Since when it has not taken all that it was sent; null: it has. */
  get blockedSince(): number | null {
    return this.#blockedSince;
  }

  get lastWriteAt(): number {
    return this.#lastWriteAt;
  }

  /** Says that this is a stream. Nothing of the limits for ordinary requests is for it. */
  open(first: Buffer): void {
    if (this.#isClosed) return;
    const { socket } = this.#outgoing;
    socket?.setTimeout(0);
    socket?.setNoDelay(true);
    socket?.setKeepAlive(true, 30_000);
    this.#outgoing.writeHead(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store, no-transform",
      "x-content-type-options": "nosniff",
      "x-accel-buffering": "no",
    });
    this.write(first);
  }

  /** Gives whether more may follow at once. */
  write(bytes: Buffer): boolean {
    if (this.#isClosed) return false;
    this.#lastWriteAt = this.#clock.monotonic();
    const isTaken = this.#outgoing.write(bytes);
    if (!isTaken) this.#blockedSince ??= this.#lastWriteAt;
    return isTaken;
  }

  /** What to do when it has taken everything, and when it is gone. */
  follow(onDrain: () => void, onClose: () => void): void {
    this.#onDrain = onDrain;
    this.onClose(onClose);
  }

  onClose(listener: () => void): void {
    if (this.#isClosed) listener();
    else this.#onClose.push(listener);
  }

  /** Until it has taken everything or is gone; gives false when that takes longer than `ms`. */
  async drained(ms?: number): Promise<boolean> {
    if (this.#blockedSince === null || this.#isClosed) return true;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#waiters.push(() => resolve(true));
    const timer = ms === undefined ? undefined : this.#clock.after(ms, () => resolve(false));
    try {
      return await promise;
    } finally {
      timer?.cancel();
    }
  }

  /** Ends it in order where the client takes that: it comes back from where it was. */
  end(): void {
    if (this.#isClosed) return;
    if (this.#outgoing.headersSent && this.#blockedSince === null) this.#outgoing.end();
    else this.#outgoing.destroy();
    this.#closed();
  }

  /** Ends it at once, with all that it has not taken. */
  destroy(): void {
    this.#outgoing.destroy();
    this.#closed();
  }

  #drained(): void {
    this.#blockedSince = null;
    this.#release();
    this.#onDrain();
  }

  #closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#release();
    for (const listener of this.#onClose.splice(0)) listener();
  }

  #release(): void {
    for (const waiter of this.#waiters.splice(0)) waiter();
  }
}
