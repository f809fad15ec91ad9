/**
 * The metering gateway: a proxy on loopback between a program and the providers of models. Every request
 * has the token of one delegation, and is answered under its contract.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Gateway } from "../../application/gateway/gateway.ts";
import {
  type Problem,
  ProgramHolder,
  refuseProgram,
  serveProgram,
} from "../../application/gateway/serve-program.ts";
import type { Clock } from "../../ports/clock.ts";
import { AllowedHosts } from "../http/allowed-hosts.ts";
import { ConnectionLimits } from "../http/connection-limits.ts";

/** A program that sends or reads nothing for so long is cut off. */
const stalledMs = 60_000;
const mostHeaderBytes = 32 * 1024;
const mostConnections = 1000;

export interface GatewayServer {
  readonly url: string;
  /** A token for the delegation of that gateway. */
  issue(gateway: Gateway): string;
  close(): Promise<void>;
}

/** Listens on a free port of loopback, and on no other address. */
export async function startGatewayServer(
  clock: Clock,
  log: (line: string) => void,
  port = 0,
): Promise<GatewayServer> {
  const tokens = new GatewayTokens<ProgramHolder>();
  const limits = new ConnectionLimits(stalledMs, clock);
  const server = createServer({
    maxHeaderSize: mostHeaderBytes,
    headersTimeout: 10_000,
    requestTimeout: stalledMs,
    keepAliveTimeout: 15_000,
    requireHostHeader: true,
    insecureHTTPParser: false,
    noDelay: true,
  });
  server.maxConnections = mostConnections;
  server.on("upgrade", (_request, socket) => socket.destroy());
  server.on("connect", (_request, socket) => socket.destroy());
  server.on("checkContinue", (request, response) => {
    const problem = problemOf(request, allowed, tokens);
    if (problem === undefined) response.writeContinue();
    server.emit("request", request, response);
  });
  server.listen({ port, host: "127.0.0.1" });
  await once(server, "listening");
  const { port: taken } = server.address() as AddressInfo;
  const allowed = new AllowedHosts(taken);
  server.on("request", (request, response) => {
    if (!limits.admit(request, response)) return;
    answer({ request, response, allowed, tokens, clock }).catch((error: unknown) => {
      // What a program sent, and its token, are in no line of the log.
      if (!response.destroyed) log(`A request failed: ${nameOf(error)}`);
      response.destroy();
    });
  });
  return {
    url: `http://127.0.0.1:${taken}`,
    issue: (gateway) => tokens.issue(new ProgramHolder(gateway)),
    async close() {
      await closeServer(server);
      limits.close();
    },
  };
}

interface Arrived {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly allowed: AllowedHosts;
  readonly tokens: GatewayTokens<ProgramHolder>;
  readonly clock: Clock;
}

async function answer(arrived: Arrived): Promise<void> {
  const { request, response, tokens } = arrived;
  const problem = problemOf(request, arrived.allowed, tokens);
  const holder = problem === undefined ? tokens.find(request) : undefined;
  if (holder === undefined) return refuseProgram(request, response, problem ?? unknownToken);
  return serveProgram(holder, request, response);
}

const unknownToken: Problem = {
  status: 401,
  message: "This token opens no delegation. It ends with the gateway that issued it.",
};

/** The problem of a request, found before any of its body is read. */
function problemOf(
  request: IncomingMessage,
  allowed: AllowedHosts,
  tokens: GatewayTokens<ProgramHolder>,
): Problem | undefined {
  const { headers, headersDistinct } = request;
  const [host, ...hosts] = headersDistinct["host"] ?? [];
  if (host === undefined || hosts.length > 0 || !allowed.hasHost(host)) {
    return { status: 403, message: "This gateway does not answer to that host name." };
  }
  const { origin, "sec-fetch-site": site } = headers;
  // Programs send neither. A page has no business here, even one of this machine.
  if (origin !== undefined || (site !== undefined && site !== "none")) {
    return { status: 403, message: "Requests of web pages are refused." };
  }
  return tokens.find(request) === undefined ? unknownToken : undefined;
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : "an unknown error";
}

async function closeServer(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}

/** A token opens one delegation: it is never written down, and ends with its process. */
class GatewayTokens<Held> {
  readonly #held: { readonly digest: Buffer; readonly held: Held }[] = [];

  /** A new token for one delegation. */
  issue(held: Held): string {
    const token = `mandate-gateway-${randomBytes(32).toString("base64url")}`;
    this.#held.push({ digest: digestOf(token), held });
    return token;
  }

  /** What the token of a request opens; undefined: it has none, an unknown one, or two. */
  find(request: IncomingMessage): Held | undefined {
    const [token, ...others] = new Set(tokensIn(request));
    if (token === undefined || others.length > 0) return undefined;
    const digest = digestOf(token);
    let found: Held | undefined;
    // All are compared, so that the time says nothing about any of them.
    for (const one of this.#held) if (timingSafeEqual(one.digest, digest)) found = one.held;
    return found;
  }
}

function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** Each provider's clients send the key in a header of their own. */
function* tokensIn({ headersDistinct: headers }: IncomingMessage): Generator<string> {
  for (const name of ["x-api-key", "x-goog-api-key"]) yield* headers[name] ?? [];
  for (const value of headers["authorization"] ?? []) {
    yield /^bearer +(?<token>[\w.~+/=-]{1,512})$/i.exec(value)?.groups?.["token"] ?? value;
  }
}
