import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock, Timer } from "../../ports/clock.ts";

interface Connection {
  /** Requests that are not answered yet. */
  waiting: number;
  /** It is cut when it takes nothing more for a while. */
  isWatched: boolean;
}

/** More than any client has; those that send one after the other have one. */
const mostWaiting = 4;
const lookEveryMs = 2000;

/**
 * What one connection may cost. Node reads and begins whatever is sent in one go, and waits for ever
 * for a client to take its answers: a stranger without a token could make everybody wait, or hold
 * all connections there are, by sending much and reading nothing.
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

  /** False: the connection is over, and there is nothing to answer. */
  admit({ socket }: IncomingMessage, outgoing: ServerResponse): boolean {
    const connection = this.#connections.get(socket) ?? { waiting: 0, isWatched: false };
    if (socket.destroyed || connection.waiting >= mostWaiting) {
      socket.destroy();
      return false;
    }
    // For the time between two requests a connection has another limit, which has ended now.
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

  /** A timeout counts from the last byte that was taken; whoever reads slowly is left alone. */
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
