import { randomUUID } from "node:crypto";
import {
  type EventStore,
  isJSONRPCErrorResponse,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type RequestId,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";

/** How soon a client whose stream broke should come back, in milliseconds. */
const retryInterval = 1000;

/** The connection of one session of 2025-11-25. What it sends is kept for clients that come back. */
export class SessionTransport extends WebStandardStreamableHTTPServerTransport {
  readonly #open = new Set<RequestId>();

  constructor(sessionId: string) {
    super({
      sessionIdGenerator: () => sessionId,
      eventStore: new RecentMessages(),
      retryInterval,
    });
  }

  /**
   * False for an id whose request is not answered yet: its answer would go to the wrong stream.
   * True takes the id.
   */
  takes(message: unknown): boolean {
    const { id, method, params } = message as {
      readonly id?: RequestId;
      readonly method?: string;
      readonly params?: { readonly requestId?: RequestId };
    };
    // What is taken back is not answered at all.
    if (method === "notifications/cancelled" && params?.requestId !== undefined) {
      this.#open.delete(params.requestId);
    }
    if (id === undefined || method === undefined) return true;
    if (this.#open.has(id)) return false;
    this.#open.add(id);
    return true;
  }

  /** For a request that the server never saw. */
  release(message: unknown): void {
    const { id } = message as { readonly id?: RequestId };
    if (id !== undefined) this.#open.delete(id);
  }

  override async send(
    message: JSONRPCMessage,
    options?: { relatedRequestId?: RequestId },
  ): Promise<void> {
    const isAnswer = isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message);
    if (isAnswer && message.id !== undefined) this.#open.delete(message.id);
    await super.send(message, options);
  }
}

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
