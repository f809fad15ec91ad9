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

/** A stored entry; `frame` is null when the filter of the client excludes it. */
export interface StoredFrame {
  readonly id: number;
  readonly frame: Buffer | null;
}

export interface ClientSource {
  readonly ring: FrameRing;
  /** The stored entries after a position, in order. */
  read(after: number): AsyncIterable<StoredFrame>;
  /** Waits for a free reader slot of the store; returns the function that releases it. */
  readingTurn(): Promise<() => void>;
  /** Which entries the client wants; null: all of them. */
  readonly wants: ((entry: AboutEntry) => boolean) | null;
}

/** Why a client was dropped. */
export type DropReason = "lagging" | "stalled";

/** How long a reader waits for a slow client before it releases the store. */
const releaseMs = 250;
/** After so many entries the event loop is yielded, since reading SQLite never waits. */
const perTurn = 100;
const chunkBytes = 64 * 1024;
/** After so many filtered entries the client is sent its new position. */
const placeEvery = 5000;

/**
 * One client of a stream: a position in the log and a connection. It first reads stored entries,
 * then follows the ring; when it falls out of the ring, it reads the store again. It gets every
 * entry after its position once and in order. It pulls, so nothing is buffered for it.
 */
export class SseClient {
  readonly connection: SseConnection;
  readonly #source: ClientSource;
  readonly #limits: StreamLimits;
  #place: number;
  /** The last id that was sent to the client. */
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

  /** Resolves when the client has disconnected. */
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

  /** Sends from the ring until the connection is full. */
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

  /** Sends a frame that may be lost, to clients that have received everything before it. */
  offer(frame: Buffer): void {
    const isUpToDate = this.#fallBehind !== undefined && this.connection.blockedSince === null;
    if (isUpToDate) this.connection.write(frame);
  }

  /** The reason to drop the client; undefined: there is no reason. */
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

  /** Reads the store until the ring has all entries that follow. */
  async #catchUp(): Promise<void> {
    const { ring } = this.#source;
    while (!this.connection.isClosed && this.#place < (ring.floor ?? Number.POSITIVE_INFINITY)) {
      // All entries that were received before reading began are stored, so they are read.
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

  /** False: the client read too slowly, so reading must start again from here. */
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

  /** Sends the client its place, so that after a reconnect it does not read filtered entries again. */
  #tellPlace(): boolean {
    if (this.#place <= this.#toldPlace || this.connection.blockedSince !== null) return false;
    this.#send(placeFrame(this.#place), this.#place);
    return true;
  }
}

/** The connection to one client: whether it reads, and when it is closed. */
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
    // An error closes the connection, and "close" handles that.
    outgoing.on("error", () => undefined);
    signal.addEventListener("abort", () => this.end(), { once: true });
    if (signal.aborted || outgoing.destroyed) this.#isClosed = true;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Since when output waits to be read; null: nothing waits. */
  get blockedSince(): number | null {
    return this.#blockedSince;
  }

  get lastWriteAt(): number {
    return this.#lastWriteAt;
  }

  /** Sends the headers of a stream and lifts the timeouts of ordinary requests. */
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

  /** Returns whether more can be written at once. */
  write(bytes: Buffer): boolean {
    if (this.#isClosed) return false;
    this.#lastWriteAt = this.#clock.monotonic();
    const isTaken = this.#outgoing.write(bytes);
    if (!isTaken) this.#blockedSince ??= this.#lastWriteAt;
    return isTaken;
  }

  /** Sets the callbacks for a drained and for a closed connection. */
  follow(onDrain: () => void, onClose: () => void): void {
    this.#onDrain = onDrain;
    this.onClose(onClose);
  }

  onClose(listener: () => void): void {
    if (this.#isClosed) listener();
    else this.#onClose.push(listener);
  }

  /** Resolves when everything was read or the connection is closed; with false after `ms`. */
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

  /** Ends the stream, cleanly when the client reads: it reconnects and continues where it was. */
  end(): void {
    if (this.#isClosed) return;
    if (this.#outgoing.headersSent && this.#blockedSince === null) this.#outgoing.end();
    else this.#outgoing.destroy();
    this.#closed();
  }

  /** Closes the connection at once and drops unread output. */
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
