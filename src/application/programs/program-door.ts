import { timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { getRequestListener } from "@hono/node-server";
import {
  type CallToolResult,
  isInitializeRequest,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import type { ProgramHost } from "../../delegations/agent-programs.ts";
import { messageOf } from "../../ports/message-of.ts";
import type { Door } from "../../workspaces/egress/bridge.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { ProgramHolder, refuseProgram, serveProgram } from "../gateway/serve-program.ts";

/** Sessions of MCP that one program may hold: each of its own sub-agents opens one. */
const mostSessions = 64;

export interface ProgramDoor {
  readonly door: Door;
  close(): void;
}

/**
 * What a program reaches outside its sandbox: its models through the gateway, and our tools over MCP at
 * `/mcp`. No port is opened: connections arrive over the bridge of that sandbox alone.
 */
export function openProgramDoor(options: {
  readonly host: ProgramHost;
  /** Null: its requests to models do not pass us. */
  readonly gateway: Gateway | null;
  readonly token: string;
  /** The version of Mandate. */
  readonly version: string;
}): ProgramDoor {
  const { gateway, host, token, version } = options;
  const holder = gateway === null ? null : new ProgramHolder(gateway);
  const tools = new ProgramTools(host, version);
  const listener = getRequestListener((request) => tools.handle(request));
  const server = createServer(
    { maxHeaderSize: 32 * 1024, requestTimeout: 60_000, insecureHTTPParser: false },
    (request, response) => {
      answer(request, response).catch(() => response.destroy());
    },
  );
  server.on("upgrade", (_request, socket) => socket.destroy());
  server.on("connect", (_request, socket) => socket.destroy());
  return {
    door: (connection) => void server.emit("connection", connection),
    close() {
      server.closeAllConnections();
      gateway?.close();
      tools.close();
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    host.alive();
    if (!hasToken(request, token)) {
      return refuseProgram(request, response, { status: 401, message: "The token is missing." });
    }
    if (/^\/mcp(?:\?|$)/.test(request.url ?? "")) {
      await listener(request, response);
      return undefined;
    }
    if (holder !== null) return serveProgram(holder, request, response);
    const message = "This program uses its own login: its models are not asked here.";
    return refuseProgram(request, response, { status: 403, message });
  }
}

/** Each provider's clients send the key in a header of their own; one that is wrong refuses. */
function hasToken({ headersDistinct: headers }: IncomingMessage, token: string): boolean {
  const sent = [
    ...(headers["x-api-key"] ?? []),
    ...(headers["x-goog-api-key"] ?? []),
    ...(headers["authorization"] ?? []).map((value) => value.replace(/^bearer +/i, "")),
  ];
  return sent.length > 0 && sent.every((one) => isSame(one, token));
}

function isSame(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** Our tools for one program, over the sessions that it opens. */
class ProgramTools {
  readonly #host: ProgramHost;
  readonly #version: string;
  readonly #sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();

  constructor(host: ProgramHost, version: string) {
    this.#host = host;
    this.#version = version;
  }

  async handle(request: Request): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    const known = id === null ? undefined : this.#sessions.get(id);
    if (known !== undefined) return known.handleRequest(request);
    if (id !== null) return problem(404, "This session has ended.");
    const message: unknown = await request.json().catch(() => undefined);
    if (request.method !== "POST" || !isInitializeRequest(message)) {
      return problem(400, "Begin with initialize.");
    }
    if (this.#sessions.size >= mostSessions) return problem(503, "Too many sessions are open.");
    const transport = await this.#open();
    return transport.handleRequest(request, { parsedBody: message });
  }

  close(): void {
    for (const transport of this.#sessions.values()) void transport.close();
    this.#sessions.clear();
  }

  async #open(): Promise<WebStandardStreamableHTTPServerTransport> {
    const id = crypto.randomUUID();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
    });
    transport.onclose = () => this.#sessions.delete(id);
    this.#sessions.set(id, transport);
    const server = new Server(
      { name: "mandate", version: this.#version },
      { capabilities: { tools: {} } },
    );
    server.setRequestHandler("tools/list", () => ({ tools: this.#offered() }));
    server.setRequestHandler("tools/call", ({ params }) => this.#call(params));
    await server.connect(transport);
    return transport;
  }

  #offered() {
    return this.#host.tools.map(({ description, name, parameters }) => {
      return { name, description, inputSchema: { ...parameters, type: "object" as const } };
    });
  }

  async #call(params: { readonly name: string; readonly arguments?: unknown }) {
    try {
      const { isError, text } = await this.#host.call(params.name, params.arguments ?? {});
      return { content: [{ type: "text", text }], ...(isError && { isError }) } as CallToolResult;
    } catch (error) {
      // The delegation was stopped: its program is about to end.
      return {
        isError: true,
        content: [{ type: "text", text: messageOf(error) }],
      } as CallToolResult;
    }
  }
}

function problem(status: number, message: string): Response {
  return Response.json({ jsonrpc: "2.0", id: null, error: { code: -32_000, message } }, { status });
}
