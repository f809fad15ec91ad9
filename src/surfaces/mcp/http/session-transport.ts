import {
  isJSONRPCErrorResponse,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type RequestId,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { RecentMessages } from "./recent-messages.ts";

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
