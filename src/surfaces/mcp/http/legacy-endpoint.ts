import { randomUUID } from "node:crypto";
import {
  type EventStore,
  isInitializeRequest,
  isJSONRPCErrorResponse,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type RequestId,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import type { Principal } from "../../../control/records/principal.ts";
import type { Clock } from "../../../ports/clock.ts";
import { clientNameOf } from "../client-abilities.ts";
import {
  boundStream,
  type HttpClient,
  type HttpService,
  jsonRpcError,
  ownerKeyOf,
  type ServedServer,
  sessionNotFound,
} from "./http-client.ts";
import { KeptSessions } from "./kept-sessions.ts";

export interface EndpointLimits {
  readonly idleMs: number;
  readonly maxPerOwner: number;
  readonly clock: Clock;
}

interface LegacySession<Session> {
  readonly session: Session;
  readonly server: ServedServer;
  readonly transport: SessionTransport;
}

const era = "legacy";

/**
 * Serves 2025-11-25 and older, with sessions: a server needs one to ask for roots and answers, to
 * notify of resources, and to resume a broken stream. A disconnect does not cancel a call; only
 * `notifications/cancelled` does.
 */
export class LegacyEndpoint<Session> {
  readonly #service: HttpService<Session>;
  readonly #sessions: KeptSessions<LegacySession<Session>>;

  constructor(service: HttpService<Session>, limits: EndpointLimits) {
    this.#service = service;
    this.#sessions = new KeptSessions({
      ...limits,
      isBusy: ({ session }) => service.isBusy(session),
      close: async ({ session, server, transport }) => {
        await transport.close();
        await server.close();
        await service.closeSession(session);
      },
    });
  }

  async handle(request: Request, principal: Principal, message: unknown): Promise<Response> {
    const owner = ownerKeyOf(principal);
    const sessionId = request.headers.get("mcp-session-id");
    if (sessionId === null) return this.#begin(request, principal, message);
    const held = this.#sessions.use(owner, sessionId);
    if (held === undefined) return sessionNotFound();
    try {
      const { transport } = await held.session;
      const response = await answer(transport, request, message);
      if (request.method !== "DELETE" || !response.ok) return boundStream(response, held.release);
      await this.#sessions.end(owner, sessionId);
      return response;
    } catch (error) {
      held.release();
      throw error;
    }
  }

  async #begin(request: Request, principal: Principal, message: unknown): Promise<Response> {
    if (request.method !== "POST" || !isInitializeRequest(message)) {
      return jsonRpcError(400, -32_000, "Mcp-Session-Id is missing: begin with initialize.");
    }
    const client = { principal, name: clientNameOf(message.params.clientInfo), era } as const;
    const owner = ownerKeyOf(principal);
    const sessionId = randomUUID();
    const held = await this.#sessions.open(owner, sessionId, () => this.#make(client, sessionId));
    if (held === undefined) {
      return jsonRpcError(503, -32_000, "All of your sessions are busy: close one first.");
    }
    let isBegun = false;
    try {
      const { transport } = await held.session;
      const response = await answer(transport, request, message);
      isBegun = transport.sessionId !== undefined;
      return isBegun ? boundStream(response, held.release) : response;
    } finally {
      // The client does not know this session, so it could not close it.
      if (!isBegun) {
        held.release();
        await this.#sessions.end(owner, sessionId);
      }
    }
  }

  async end(isConcerned?: (owner: string) => boolean): Promise<void> {
    await this.#sessions.endAll(isConcerned);
  }

  stop(): void {
    this.#sessions.stop();
  }

  async #make(client: HttpClient, sessionId: string): Promise<LegacySession<Session>> {
    const session = await this.#service.openSession(client);
    const server = await this.#service.makeServer(session, client);
    const transport = new SessionTransport(sessionId);
    await server.connect(transport);
    return { session, server, transport };
  }
}

async function answer(
  transport: SessionTransport,
  request: Request,
  message: unknown,
): Promise<Response> {
  if (request.method !== "POST") return transport.handleRequest(request);
  if (!transport.takes(message)) {
    return jsonRpcError(400, -32_600, "A request with that id is not answered yet.");
  }
  const response = await transport.handleRequest(request, { parsedBody: message });
  if (!response.ok) transport.release(message);
  return response;
}

/** The delay before a client reconnects a broken stream, in milliseconds. */
const retryInterval = 1000;

/**
 * The transport of one session of 2025-11-25. It keeps sent messages for clients that reconnect.
 */
class SessionTransport extends WebStandardStreamableHTTPServerTransport {
  readonly #open = new Set<RequestId>();

  constructor(sessionId: string) {
    super({
      sessionIdGenerator: () => sessionId,
      eventStore: new RecentMessages(),
      retryInterval,
    });
  }

  /**
   * Takes a request id. False: a request with this id is still open, and its answer would go to the
   * wrong stream.
   */
  takes(message: unknown): boolean {
    const { id, method, params } = message as {
      readonly id?: RequestId;
      readonly method?: string;
      readonly params?: { readonly requestId?: RequestId };
    };
    // A cancelled request gets no answer.
    if (method === "notifications/cancelled" && params?.requestId !== undefined) {
      this.#open.delete(params.requestId);
    }
    if (id === undefined || method === undefined) return true;
    if (this.#open.has(id)) return false;
    this.#open.add(id);
    return true;
  }

  /** Releases the id of a request that did not reach the server. */
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

/** Less than the limit of unread output, since a replay is sent at once. */
const maxBytes = 1024 * 1024;

const maxMessages = 1000;

interface Stored {
  readonly id: string;
  readonly stream: string;
  readonly message: JSONRPCMessage;
  readonly bytes: number;
}

/**
 * The latest messages of one session, so that a client can resume a broken stream. Older messages
 * are dropped: a client that reconnects too late asks for the result.
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
    // The newest message is always kept: it may be the result.
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
    // The entry that only gave a stream its first id is not a message.
    for (const { id, message } of missed) if ("jsonrpc" in message) await send(id, message);
    return stream;
  }

  #isFull(): boolean {
    return this.#bytes > maxBytes || this.#stored.length > maxMessages;
  }
}
