/**
 * The metering gateway: a proxy on loopback between a program and the providers of models. Every request
 * has the token of one delegation, and is answered under its contract.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Endpoint, findEndpoint } from "../../application/gateway/find-endpoint.ts";
import type { Gateway } from "../../application/gateway/gateway.ts";
import type { Clock } from "../../ports/clock.ts";
import { AllowedHosts } from "../http/allowed-hosts.ts";
import { ConnectionLimits } from "../http/connection-limits.ts";
import { RefusedBody, readProgramBody } from "./read-program-body.ts";

/** A program that sends or reads nothing for so long is cut off. */
const stalledMs = 60_000;
const mostHeaderBytes = 32 * 1024;
const mostConnections = 1000;
/** Requests of one delegation at a time: each one holds its body in memory. */
const mostAtOnce = 256;

export interface GatewayServer {
  readonly url: string;
  /** A token for the delegation of that gateway. */
  issue(gateway: Gateway): string;
  close(): Promise<void>;
}

interface Holder {
  readonly gateway: Gateway;
  open: number;
}

/** Listens on a free port of loopback, and on no other address. */
export async function startGatewayServer(
  clock: Clock,
  log: (line: string) => void,
  port = 0,
): Promise<GatewayServer> {
  const tokens = new GatewayTokens<Holder>();
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
    issue: (gateway) => tokens.issue({ gateway, open: 0 }),
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
  readonly tokens: GatewayTokens<Holder>;
  readonly clock: Clock;
}

interface Problem {
  readonly status: number;
  readonly message: string;
}

async function answer(arrived: Arrived): Promise<void> {
  const { allowed, request, response, tokens } = arrived;
  const { method = "", url = "" } = request;
  const endpoint = findEndpoint(method, url);
  const problem = problemOf(request, allowed, tokens);
  if (problem !== undefined) return refuse(arrived, endpoint, problem);
  const holder = tokens.find(request);
  if (holder === undefined) return refuse(arrived, endpoint, unknownToken);
  if (endpoint === undefined) return refuse(arrived, endpoint, noEndpoint);
  const { gateway } = holder;
  if (endpoint.kind === "unknown") {
    const refusing = gateway.refuseEndpoint(endpoint.protocol, `${method} ${pathOf(url)}`);
    return send(response, await refusing);
  }
  if (endpoint.kind === "list") return send(response, gateway.list(endpoint.protocol));
  if (holder.open >= mostAtOnce) {
    const message = `More than ${mostAtOnce} requests at once. Send it again later.`;
    return refuse(arrived, endpoint, { status: 503, message });
  }
  holder.open++;
  const aborted = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) aborted.abort(new Error("The program has disconnected."));
  });
  try {
    const body = await readProgramBody(request);
    const header = (name: string): string | undefined => request.headersDistinct[name]?.[0];
    const { protocol, route } = endpoint;
    const { signal } = aborted;
    await send(response, await gateway.answer({ protocol, route, body, header, signal }));
  } catch (error) {
    if (error instanceof RefusedBody) return await refuse(arrived, endpoint, error);
    if (aborted.signal.aborted) return;
    throw error;
  } finally {
    holder.open--;
  }
}

const noEndpoint: Problem = {
  status: 404,
  message: "No such endpoint. The addresses are below /anthropic, /openai/v1 and /google.",
};

const unknownToken: Problem = {
  status: 401,
  message: "This token opens no delegation. It ends with the gateway that issued it.",
};

/** Checked before any of the body is read. */
function problemOf(
  request: IncomingMessage,
  allowed: AllowedHosts,
  tokens: GatewayTokens<Holder>,
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

/** Refused before anything was read of it: the connection ends, so that nothing behind it is read. */
async function refuse(
  { request, response }: Arrived,
  endpoint: Endpoint | undefined,
  { message, status }: Problem,
): Promise<void> {
  const body = endpoint?.protocol.refusal({ status, message, isBudget: false });
  response.writeHead(status, {
    ...replyHeaders,
    "content-type": "application/json",
    ...(status < 500 && { "x-should-retry": "false" }),
    connection: "close",
  });
  response.end(JSON.stringify(body ?? { error: { message } }));
  request.resume();
  await once(response, "close");
}

const replyHeaders = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

type Answer = Awaited<ReturnType<Gateway["answer"]>>;

/** A stream is read no faster than the program reads. */
async function send(response: ServerResponse, { body, headers, status }: Answer): Promise<void> {
  if (Buffer.isBuffer(body)) {
    response.writeHead(status, { ...headers, ...replyHeaders, "content-length": body.length });
    response.end(body);
    return;
  }
  response.writeHead(status, { ...headers, ...replyHeaders });
  response.flushHeaders();
  for await (const chunk of body) {
    if (response.destroyed) return;
    if (!response.write(chunk)) {
      await Promise.race([once(response, "drain"), once(response, "close")]);
    }
  }
  response.end();
}

function pathOf(url: string): string {
  return url.split("?", 1)[0]?.slice(0, 200) ?? "";
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
