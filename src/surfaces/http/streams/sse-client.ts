import type { ServerResponse } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "../../../ports/clock.ts";
import type { StreamLimits } from "./sse-feed.ts";
import {
  type AboutEntry,
  type FrameRing,
  heartbeatFrame,
  openingFrame,
  placeFrame,
} from "./sse-ring.ts";

/** What is stored: `frame` is null for what the client does not want but has passed. */
export interface StoredFrame {
  readonly id: number;
  readonly frame: Buffer | null;
}

export interface ClientSource {
  readonly ring: FrameRing;
  /** What the store has after a place by now, in order. */
  read(after: number): AsyncIterable<StoredFrame>;
  /** Waits until few enough others read the store; gives what ends that. */
  readingTurn(): Promise<() => void>;
  /** Null: everything. */
  readonly wants: ((entry: AboutEntry) => boolean) | null;
}

/** Why a client was dropped. */
export type DropReason = "lagging" | "stalled";

/** A client that makes the server wait holds no rows of the store for longer. */
const releaseMs = 250;
/** Reading never waits for anything: others get their turn after so many. */
const perTurn = 100;
const chunkBytes = 64 * 1024;
/** After so many that a client did not want, it is told how far it came. */
const placeEvery = 5000;

/**
 * One client of a stream: a place in the log, and a connection that takes what comes after it. It
 * first reads what is stored, then follows the ring; when it loses that, it reads again. Either way
 * it gets every entry after its place once and in order, and it pulls: nothing is kept for it.
 */
export class SseClient {
  readonly connection: SseConnection;
  readonly #source: ClientSource;
  readonly #limits: StreamLimits;
  #place: number;
  /** The last id that the client was told. */
  #toldPlace: number;
  #fallBehind: (() => void) | undefined;

  constructor(
    source: ClientSource,
    connection: SseConnection,
    after: number,
    limits: StreamLimits,
  ) {
    this.#source = source;
    this.connection = connection;
    this.#limits = limits;
    this.#place = after;
    this.#toldPlace = after;
  }

  /** Ends when the client is gone. */
  async run(): Promise<void> {
    const { connection } = this;
    connection.open(openingFrame(this.#place));
    connection.follow(
      () => this.pump(),
      () => this.#fallBehind?.(),
    );
    while (!connection.isClosed) {
      await this.#catchUp();
      if (!connection.isClosed) await this.#followRing();
    }
  }

  /** Sends what the ring has, as much as is taken. */
  pump(): void {
    if (this.#fallBehind === undefined) return;
    while (this.connection.blockedSince === null && !this.connection.isClosed) {
      const chunk = this.#source.ring.chunkAfter(this.#place, this.#source.wants);
      if (chunk === undefined) this.#fallBehind();
      if (chunk === undefined || chunk.to === this.#place) return;
      this.#place = chunk.to;
      if (chunk.wanted) this.#send(chunk.wanted.bytes, chunk.wanted.lastId);
    }
  }

  /** Something that may be missed: it is sent to those who have taken everything before it. */
  offer(frame: Buffer): void {
    const isUpToDate = this.#fallBehind !== undefined && this.connection.blockedSince === null;
    if (isUpToDate) this.connection.write(frame);
  }

  /** Gives why the client has to go; undefined: it need not. */
  judge(now: number): DropReason | undefined {
    const { blockedSince } = this.connection;
    if (blockedSince === null) return undefined;
    const blockedMs = now - blockedSince;
    if (this.#fallBehind === undefined) {
      return blockedMs >= this.#limits.stallMs ? "stalled" : undefined;
    }
    if (blockedMs < this.#limits.lagMs) return undefined;
    const lag = this.#source.ring.bytesAfter(this.#place);
    return lag > this.#limits.lagBytes ? "lagging" : undefined;
  }

  keepAlive(now: number): void {
    const { blockedSince, lastWriteAt } = this.connection;
    if (blockedSince !== null || now - lastWriteAt < this.#limits.heartbeatMs) return;
    if (!this.#tellPlace()) this.connection.write(heartbeatFrame);
  }

  #followRing(): Promise<void> {
    return new Promise((resolve) => {
      this.#fallBehind = () => {
        this.#fallBehind = undefined;
        resolve();
      };
      this.pump();
    });
  }

  /** Until the ring has all that is left. */
  async #catchUp(): Promise<void> {
    const { ring } = this.#source;
    while (!this.connection.isClosed && this.#place < (ring.floor ?? Number.POSITIVE_INFINITY)) {
      // Whatever was heard of before reading began is stored, and is read.
      const heard = ring.last ?? 0;
      const release = await this.#source.readingTurn();
      try {
        if (await this.#sendStored()) this.#place = Math.max(this.#place, heard);
      } finally {
        release();
      }
      await this.connection.drained();
    }
    this.#tellPlace();
  }

  /** False: it took too long to be taken, and reading has to begin again from here. */
  async #sendStored(): Promise<boolean> {
    let frames: Buffer[] = [];
    let size = 0;
    let lastId = this.#toldPlace;
    let read = 0;
    const send = async (): Promise<boolean> => {
      if (size > 0) this.#send(Buffer.concat(frames, size), lastId);
      else if (this.#place - this.#toldPlace > placeEvery) this.#tellPlace();
      frames = [];
      size = 0;
      return this.connection.drained(releaseMs);
    };
    for await (const { id, frame } of this.#source.read(this.#place)) {
      if (this.connection.isClosed) return false;
      const isFull = frame !== null && size > 0 && size + frame.length > chunkBytes;
      if (isFull && !(await send())) return false;
      this.#place = id;
      if (frame !== null) {
        frames.push(frame);
        size += frame.length;
        lastId = id;
      }
      if (++read % perTurn !== 0) continue;
      if (!(await send())) return false;
      await nextTurn();
    }
    await send();
    return true;
  }

  #send(bytes: Buffer, lastId: number): void {
    this.#toldPlace = lastId;
    this.connection.write(bytes);
  }

  /** So that it need not pass again what it did not want when it comes back. */
  #tellPlace(): boolean {
    if (this.#place <= this.#toldPlace || this.connection.blockedSince !== null) return false;
    this.#send(placeFrame(this.#place), this.#place);
    return true;
  }
}

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
