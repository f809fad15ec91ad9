import { once } from "node:events";
import { createServer, type Server, STATUS_CODES } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { getRequestListener } from "@hono/node-server";
import type { Clock } from "../../ports/clock.ts";
import { isLoopback } from "./allowed-hosts.ts";
import { type AppOptions, createApp } from "./app.ts";
import { ConnectionLimits } from "./connection-limits.ts";
import { listen } from "./listen.ts";
import { OpenRequests } from "./open-requests.ts";
import { storedPageKey } from "./page/page-key.ts";
import { PageSessions } from "./page/page-sessions.ts";
import { HttpProblem, type OwnProblemCode, problemResponse, replyHeaders } from "./problem.ts";
import type { Host } from "./route.ts";

export interface ServerOptions extends Omit<AppOptions, "linkHint" | "open" | "pages"> {
  /** Without its origin, which is known once the port is. */
  readonly host: Omit<Host, "origin">;
  /** 0: any free port. */
  readonly port: number;
  /** The address to listen on; default: loopback. */
  readonly hostname?: string | undefined;
  readonly timeouts?: Partial<ServerTimeouts> | undefined;
  readonly mostConnections?: number | undefined;
  /** How a person gets a new link to the page of the server at this port. */
  readonly linkHint?: ((port: number) => string) | undefined;
  /** The key of page sessions; undefined: the one in the database. */
  readonly pageKey?: Buffer | undefined;
}

export interface ServerTimeouts {
  /** The time until all headers of a request must have arrived. */
  readonly headersMs: number;
  /** The time until the whole request must have arrived. */
  readonly requestMs: number;
  /** The time until the next request on a connection. */
  readonly keepAliveMs: number;
  /** Without the client reading anything of a waiting response. */
  readonly stalledMs: number;
  /** How often the timeouts of requests are checked. */
  readonly checkMs: number;
}

export interface RunningServer {
  readonly url: string;
  readonly port: number;
  readonly pages: PageSessions;
  /**
   * Refuses new requests, lets open ones finish, and cuts those that are still open after the
   * grace.
   */
  close(graceMs?: number): Promise<void>;
}

/** A request that arrives slower than this is cut off after eight and a half seconds. */
const usualTimeouts: ServerTimeouts = {
  headersMs: 5000,
  requestMs: 8000,
  keepAliveMs: 5000,
  stalledMs: 20_000,
  checkMs: 500,
};
const mostHeaderBytes = 16 * 1024;
const usualGraceMs = 5000;

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { hostname = "127.0.0.1", port, mostConnections = 1000 } = options;
  const timeouts = { ...usualTimeouts, ...options.timeouts };
  const server = createServer({
    maxHeaderSize: mostHeaderBytes,
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    keepAliveTimeout: timeouts.keepAliveMs,
    connectionsCheckingInterval: timeouts.checkMs,
    requireHostHeader: true,
    insecureHTTPParser: false,
    noDelay: true,
  });
  // The size of all headers is limited. A limit on their number would drop the rest silently.
  server.maxHeadersCount = 0;
  server.maxConnections = mostConnections;
  server.on("clientError", answerBrokenRequest);
  server.on("connect", (_request, socket) =>
    answerBrokenRequest({ code: "CONNECT" }, socket as Socket),
  );
  const { clock, store } = options.host.runtime;
  const key = options.pageKey ?? (await storedPageKey(store));
  await listen(server, { port, hostname, option: "--port" });
  const address = server.address() as AddressInfo;
  const origin = `http://${isLoopback(hostname) ? shown(hostname) : "127.0.0.1"}:${address.port}`;
  const open = new OpenRequests();
  const isLocal = isLoopback(hostname) && (options.allowedHosts ?? []).length === 0;
  const pages = new PageSessions({ now: () => clock.now(), store, key, isLocal });
  const app = createApp(
    { ...options.host, origin },
    {
      ...{ ...options, open, pages },
      linkHint: options.linkHint?.(address.port),
    },
  );
  const listener = getRequestListener(app.fetch, {
    // Do not replace Request and Response for other code of this process.
    overrideGlobalObjects: false,
    errorHandler: answerRequestError,
  });
  const limits = new ConnectionLimits(timeouts.stalledMs, clock);
  server.on("request", (incoming, outgoing) => {
    if (limits.admit(incoming, outgoing)) void listener(incoming, outgoing);
  });
  return {
    url: origin,
    port: address.port,
    pages,
    async close(graceMs = usualGraceMs) {
      open.stop();
      await closeServer(server, graceMs, clock);
      pages.close();
      limits.close();
    },
  };
}

async function closeServer(server: Server, graceMs: number, clock: Clock): Promise<void> {
  const closed = once(server, "close");
  server.close();
  // A kept-alive connection becomes idle when its last response was sent.
  const idle = clock.every(20, () => server.closeIdleConnections());
  const cut = clock.after(graceMs, () => server.closeAllConnections());
  try {
    await closed;
  } finally {
    idle.cancel();
    cut.cancel();
  }
}

function shown(hostname: string): string {
  return hostname.includes(":") ? `[${hostname}]` : hostname;
}

const problems: Readonly<Record<string, readonly [OwnProblemCode, string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ["request-timeout", "The request did not arrive in time."],
  HPE_HEADER_OVERFLOW: ["headers-too-large", "The headers are larger than 16 KB."],
  CONNECT: ["method-not-allowed", "This server is not a proxy."],
};

/**
 * Answers what the parser refused: conflicting lengths, endless headers, other protocols. The
 * connection is closed, so nothing behind the request is read.
 */
function answerBrokenRequest(error: { readonly code?: string }, socket: Duplex): void {
  const isAnswering = Reflect.get(socket, "_httpMessage")?.headersSent === true;
  if (error.code === "ECONNRESET" || !socket.writable || isAnswering) {
    socket.destroy();
    return;
  }
  const [code, detail] = problems[error.code ?? ""] ?? [
    "request-invalid",
    "The HTTP request is malformed or ambiguous.",
  ];
  const { problem } = new HttpProblem(code, detail);
  const body = JSON.stringify(problem);
  const headers = {
    ...replyHeaders,
    ...(code === "method-not-allowed" && { allow: "GET, POST, PUT, DELETE" }),
    "content-type": "application/problem+json",
    "content-length": String(Buffer.byteLength(body)),
    connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const { status } = problem;
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${body}`, () =>
    socket.destroy(),
  );
}

/**
 * Answers a request that the adapter could not build, such as one with an invalid host, or an
 * internal error.
 */
function answerRequestError(error: unknown): Response {
  const isUnreadable = error instanceof Error && error.name === "RequestError";
  const { problem } = isUnreadable
    ? new HttpProblem("request-invalid", "The host or the request target is invalid.")
    : new HttpProblem("internal", "The server failed.");
  return problemResponse(problem, replyHeaders);
}
