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
import type { StoredSession } from "./stored-sessions.ts";

export interface EndpointLimits {
  readonly idleMs: number;
  readonly maxPerOwner: number;
  readonly clock: Clock;
}

interface LegacySession<Session> {
  readonly session: Session;
  readonly server: ServedServer;
  readonly transport: SessionTransport;
  readonly stored: StoredSession | undefined;
}

const era = "legacy";

/**
 * Serves 2025-11-25 and older, with sessions: a server needs one to ask for roots and answers, to
 * notify of resources, and to resume a broken stream. A disconnect does not cancel a call; only
 * `notifications/cancelled` does. Where sessions are stored, this server also continues those that
 * another one opened: it repeats the stored handshake and subscriptions to a server object of its own.
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
    const held =
      this.#sessions.use(owner, sessionId) ?? (await this.#continue(request, principal, sessionId));
    if (held === undefined) return sessionNotFound();
    try {
      const { stored, transport } = await held.session;
      if (stored !== undefined && (await stored.refresh()) === undefined) {
        held.release();
        await this.#sessions.end(owner, sessionId);
        return sessionNotFound();
      }
      const followed = followedIn(message);
      if (followed !== undefined) await stored?.follow(followed.uri, followed.isSubscribed);
      const response = await answer(transport, request, message);
      if (request.method !== "DELETE" || !response.ok) return boundStream(response, held.release);
      held.release();
      await Promise.all([stored?.end(), this.#sessions.end(owner, sessionId)]);
      return response;
    } catch (error) {
      held.release();
      throw error;
    }
  }

  /** Undefined: no such session is stored, or its principal has too many that are busy. */
  async #continue(
    request: Request,
    principal: Principal,
    sessionId: string,
  ): Promise<Held<Session> | undefined> {
    const stored = this.#service.stored?.at(principal, sessionId);
    const { handshake = null, subscriptions = [] } = (await stored?.refresh()) ?? {};
    if (handshake === null) return undefined;
    const client = { principal, name: clientNameOf(handshake["clientInfo"]), era, stored } as const;
    return this.#sessions.open(ownerKeyOf(principal), sessionId, async () => {
      const made = await this.#make(client, sessionId);
      await repeatHandshake(made.transport, request, { handshake, sessionId, subscriptions });
      return made;
    });
  }

  async #begin(request: Request, principal: Principal, message: unknown): Promise<Response> {
    if (request.method !== "POST" || !isInitializeRequest(message)) {
      return jsonRpcError(400, -32_000, "Mcp-Session-Id is missing: begin with initialize.");
    }
    const name = clientNameOf(message.params.clientInfo);
    const owner = ownerKeyOf(principal);
    const sessionId = randomUUID();
    const handshake = storable(message.params);
    const stored = handshake && this.#service.stored?.at(principal, sessionId);
    const client = { principal, name, era, stored } as const;
    const held = await this.#sessions.open(owner, sessionId, () => this.#make(client, sessionId));
    if (held === undefined) {
      return jsonRpcError(503, -32_000, "All of your sessions are busy: close one first.");
    }
    let isBegun = false;
    try {
      const { transport } = await held.session;
      const response = await answer(transport, request, message);
      isBegun = transport.sessionId !== undefined;
      if (isBegun && handshake !== undefined) await stored?.begin(handshake);
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

  /** Ends a session that another server has ended. */
  async endStored(id: string): Promise<void> {
    await this.#sessions.endLike(({ stored }) => stored?.id === id);
  }

  stop(): void {
    this.#sessions.stop();
  }

  async #make(client: HttpClient, sessionId: string): Promise<LegacySession<Session>> {
    const session = await this.#service.openSession(client);
    const server = await this.#service.makeServer(session, client);
    const transport = new SessionTransport(sessionId);
    await server.connect(transport);
    return { session, server, transport, stored: client.stored };
  }
}

interface Held<Session> {
  readonly session: Promise<LegacySession<Session>>;
  release(): void;
}

/** A larger handshake is not stored: its session ends with this server. */
const longestHandshake = 16_384;

function storable(params: object): Readonly<Record<string, unknown>> | undefined {
  const { protocolVersion, capabilities, clientInfo } = params as Readonly<Record<string, unknown>>;
  const handshake = { protocolVersion, capabilities, clientInfo };
  return JSON.stringify(handshake).length > longestHandshake ? undefined : handshake;
}

const longestUri = 512;

function followedIn(
  message: unknown,
): { readonly uri: string; readonly isSubscribed: boolean } | undefined {
  const { method, params } = (message ?? {}) as {
    readonly method?: unknown;
    readonly params?: { readonly uri?: unknown };
  };
  const isSubscribed = method === "resources/subscribe";
  if (!isSubscribed && method !== "resources/unsubscribe") return undefined;
  const uri = params?.uri;
  if (typeof uri !== "string" || uri.length > longestUri) return undefined;
  return { uri, isSubscribed };
}

interface Handshake {
  readonly handshake: Readonly<Record<string, unknown>>;
  readonly sessionId: string;
  readonly subscriptions: readonly string[];
}

/** Brings a new transport to where the client and the server before it were. */
async function repeatHandshake(
  transport: SessionTransport,
  { url }: Request,
  { handshake, sessionId, subscriptions }: Handshake,
): Promise<void> {
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-session-id": sessionId,
  };
  const send = async (message: object): Promise<void> => {
    const request = new Request(url, { method: "POST", headers });
    const response = await transport.handleRequest(request, {
      parsedBody: { jsonrpc: "2.0", ...message },
    });
    // The answers are in the events that a client could ask for; this one has had them.
    await response.text();
  };
  await send({ id: `${sessionId}/begin`, method: "initialize", params: handshake });
  await send({ method: "notifications/initialized" });
  for (const uri of subscriptions) {
    await send({ id: `${sessionId}/${uri}`, method: "resources/subscribe", params: { uri } });
  }
}

async function answer(
  transport: SessionTransport,
  request: Request,
  message: unknown,
): Promise<Response> {
  if (request.method !== "POST")
    return transport.handleRequest(await resumable(transport, request));
  if (!transport.takes(message)) {
    return jsonRpcError(400, -32_600, "A request with that id is not answered yet.");
  }
  const response = await transport.handleRequest(request, { parsedBody: message });
  if (!response.ok) transport.release(message);
  return response;
}

/**
 * A stream that this server cannot resume, such as one of another server, begins again: what was sent
 * in between is lost, and results stay retrievable by their ids.
 */
async function resumable(transport: SessionTransport, request: Request): Promise<Request> {
  const last = request.headers.get("last-event-id");
  if (last === null || (await transport.recent.getStreamIdForEventId(last))) return request;
  const headers = new Headers(request.headers);
  headers.delete("last-event-id");
  return new Request(request.url, { headers, signal: request.signal });
}

/** The delay before a client reconnects a broken stream, in milliseconds. */
const retryInterval = 1000;

/**
 * The transport of one session of 2025-11-25. It keeps sent messages for clients that reconnect.
 */
class SessionTransport extends WebStandardStreamableHTTPServerTransport {
  readonly recent: RecentMessages;
  readonly #open = new Set<RequestId>();

  constructor(sessionId: string) {
    const recent = new RecentMessages();
    super({ sessionIdGenerator: () => sessionId, eventStore: recent, retryInterval });
    this.recent = recent;
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
