import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock, Timer } from "../../ports/clock.ts";

interface Connection {
  /** Requests without a response so far. */
  waiting: number;
  /** The client has unread output, and is disconnected when it reads nothing for a while. */
  isWatched: boolean;
}

/** Pipelined requests of one connection; ordinary clients have one at a time. */
const mostWaiting = 4;
const lookEveryMs = 2000;

/**
 * Limits what one connection can cost. Node starts all pipelined requests at once and waits without
 * limit for a client to read the responses: a client without a token could block the server or
 * occupy all its connections by sending much and reading nothing.
 */
export class ConnectionLimits {
  readonly #stalledMs: number;
  readonly #connections = new WeakMap<Socket, Connection>();
  readonly #open = new Set<Socket>();
  readonly #timer: Timer;

  constructor(stalledMs: number, clock: Clock) {
    this.#stalledMs = stalledMs;
    this.#timer = clock.every(Math.min(lookEveryMs, stalledMs), () => this.#look()).unref();
  }

  /** False: the connection was closed, so the request must not be handled. */
  admit({ socket }: IncomingMessage, outgoing: ServerResponse): boolean {
    const connection = this.#connections.get(socket) ?? { waiting: 0, isWatched: false };
    if (socket.destroyed || connection.waiting >= mostWaiting) {
      socket.destroy();
      return false;
    }
    // The keep-alive timeout ended with this request, and it had replaced the stall timeout.
    if (connection.waiting === 0) connection.isWatched = false;
    connection.waiting++;
    this.#connections.set(socket, connection);
    this.#open.add(socket);
    outgoing.once("close", () => {
      connection.waiting--;
      if (connection.waiting === 0) this.#open.delete(socket);
    });
    return true;
  }

  close(): void {
    this.#timer.cancel();
  }

  /**
   * The timeout restarts with every byte that the client reads, so slow readers are not cut off.
   */
  #look(): void {
    for (const socket of this.#open) {
      const connection = this.#connections.get(socket);
      const isBehind = socket.writableLength > 0;
      if (connection === undefined || connection.isWatched === isBehind) continue;
      connection.isWatched = isBehind;
      socket.setTimeout(isBehind ? this.#stalledMs : 0);
    }
  }
}
