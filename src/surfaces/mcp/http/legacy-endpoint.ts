import { randomUUID } from "node:crypto";
import { isInitializeRequest } from "@modelcontextprotocol/server";
import type { Principal } from "../../../control/records/principal.ts";
import type { Clock } from "../../../ports/clock.ts";
import { boundStream } from "./bound-stream.ts";
import {
  clientNameOf,
  type HttpClient,
  type HttpService,
  ownerKeyOf,
  type ServedServer,
} from "./http-client.ts";
import { jsonRpcError, sessionNotFound } from "./json-rpc-error.ts";
import { KeptSessions } from "./kept-sessions.ts";
import { SessionTransport } from "./session-transport.ts";

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
 * Serves 2025-11-25 and older with sessions: only with one can a server ask its client for roots
 * and answers, tell it of resources, and take up a stream that broke. A client that goes away in
 * the middle of a call has not taken it back; only `notifications/cancelled` does.
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
      return jsonRpcError(503, -32_000, "All of your sessions are at work: end one first.");
    }
    let isBegun = false;
    try {
      const { transport } = await held.session;
      const response = await answer(transport, request, message);
      isBegun = transport.sessionId !== undefined;
      return isBegun ? boundStream(response, held.release) : response;
    } finally {
      // Nobody was told of it, so nobody would end it.
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
