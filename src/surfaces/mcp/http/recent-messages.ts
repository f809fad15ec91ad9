import { randomUUID } from "node:crypto";
import type { EventStore, JSONRPCMessage } from "@modelcontextprotocol/server";

/** Less than may wait in a stream: what is sent again all at once has to fit. */
const maxBytes = 1024 * 1024;
const maxMessages = 1000;

interface Stored {
  readonly id: string;
  readonly stream: string;
  readonly message: JSONRPCMessage;
  readonly bytes: number;
}

/**
 * The last messages of one session, so that a client whose connection broke goes on where it was.
 * What is older than the bounds is gone: a client that comes back too late asks for the result.
 */
export class RecentMessages implements EventStore {
  readonly #prefix = randomUUID();
  readonly #stored: Stored[] = [];
  #bytes = 0;
  #count = 0;

  async storeEvent(stream: string, message: JSONRPCMessage): Promise<string> {
    const id = `${this.#prefix}.${++this.#count}`;
    const bytes = JSON.stringify(message).length;
    this.#stored.push({ id, stream, message, bytes });
    this.#bytes += bytes;
    // The newest stays, however large: it may be the result.
    while (this.#stored.length > 1 && this.#isFull())
      this.#bytes -= this.#stored.shift()?.bytes ?? 0;
    return id;
  }

  async getStreamIdForEventId(eventId: string): Promise<string | undefined> {
    return this.#stored.find(({ id }) => id === eventId)?.stream;
  }

  async replayEventsAfter(
    lastEventId: string,
    { send }: { send: (id: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const at = this.#stored.findIndex(({ id }) => id === lastEventId);
    const stream = this.#stored[at]?.stream ?? "";
    const missed = this.#stored.slice(at + 1).filter((one) => one.stream === stream);
    // What only gave a stream its first id has nothing to say.
    for (const { id, message } of missed) if ("jsonrpc" in message) await send(id, message);
    return stream;
  }

  #isFull(): boolean {
    return this.#bytes > maxBytes || this.#stored.length > maxMessages;
  }
}
