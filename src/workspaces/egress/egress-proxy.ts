import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { portOf } from "../../contracts/addresses.ts";
import type { Selection } from "../../contracts/selection.ts";
import { CallDenied } from "../../ports/mandate-error.ts";
import { messageOf, reasonOf } from "../../ports/message-of.ts";
import { type Door, joinStreams } from "./bridge.ts";
import { readClientHello } from "./client-hello.ts";
import { endToEndHeaders, framingOf, isForHost } from "./proxy-headers.ts";
import {
  answerWith,
  type HostAddress,
  hostOf,
  isOneOf,
  type Lookup,
  readAddress,
  requireGrantedHost,
  resolveHost,
  systemLookup,
} from "./web-address.ts";

/** A connection that a program in a sandbox asked for. */
export interface EgressRecord {
  /** The host and port as they were asked for. */
  readonly host: string;
  /** The rule that refused it, or `not_reachable`; absent: it was connected. */
  readonly refused?: string;
}

export interface EgressOptions {
  /** What grants hosts, such as the contract; all of them must grant a host. */
  readonly grants: readonly Selection[];
  /** Places that may be reached although they are not public, as `host:port`. For operators. */
  readonly allowPrivate?: readonly string[];
  readonly lookup?: Lookup;
  onConnection(record: EgressRecord): void;
}

/**
 * A proxy for the programs of one sandbox: plain HTTP and CONNECT to the granted hosts. Each request is
 * judged by the same code as `web_fetch`: grant first, then the addresses of the name, which are
 * connected to as checked. TLS is not opened, but a tunnel must ask for the host that it is for.
 */
export function createEgressProxy(options: EgressOptions): Door {
  const judge = new EgressJudge(options);
  // The server never listens: connections come from the bridge of the sandbox.
  const server = createServer({ maxHeaderSize: 32 * 1024, keepAliveTimeout: 0 });
  /** The host that a tunnel without TLS is for. */
  const tunnels = new WeakMap<Duplex, string>();
  server.on("request", (asked, response) => {
    void forward(asked, response, tunnels.get(asked.socket)).catch((error) =>
      refuseRequest(response, error),
    );
  });
  server.on("connect", (asked, connection, head) => {
    void tunnel(asked, connection, head).catch((error) => refuseTunnel(connection, error));
  });
  server.on("upgrade", (_asked, connection) => connection.destroy());
  server.on("clientError", (_error, connection) => refuseTunnel(connection, malformed()));
  return (connection) => void server.emit("connection", connection);

  async function forward(
    asked: IncomingMessage,
    response: ServerResponse,
    tunnelTo: string | undefined,
  ): Promise<void> {
    const text = asked.url ?? "";
    const isOrigin = text.startsWith("/");
    if (isOrigin !== (tunnelTo !== undefined) || (!isOrigin && !/^http:\/\//i.test(text))) {
      throw judge.refuse(
        "address_invalid",
        "A proxy takes http://… addresses, and CONNECT for TLS",
      );
    }
    const { url, addresses } = await judge.permit(isOrigin ? `http://${tunnelTo}${text}` : text);
    if (!isForHost(asked.rawHeaders, url, true)) throw judge.mismatch(url, "Host header");
    const sent = request({
      hostname: hostOf(url),
      port: portOf(url),
      path: `${url.pathname}${url.search}`,
      method: asked.method,
      headers: {
        ...endToEndHeaders(asked.rawHeaders),
        ...framingOf(asked.headers),
        host: url.host,
      },
      agent: false,
      lookup: answerWith(addresses),
      maxHeaderSize: 64 * 1024,
    });
    sent.on("socket", (socket) => requireAddress(socket, addresses));
    sent.on("error", (error) => refuseRequest(response, judge.unreachable(url, error)));
    sent.on("upgrade", (_response, socket) => socket.destroy(malformed()));
    sent.on("response", (answer) => {
      judge.connected(url);
      response.writeHead(answer.statusCode ?? 502, endToEndHeaders(answer.rawHeaders));
      answer.on("error", () => response.destroy());
      answer.pipe(response);
    });
    response.on("close", () => sent.destroy());
    asked.pipe(sent);
  }

  async function tunnel(asked: IncomingMessage, connection: Duplex, head: Buffer): Promise<void> {
    connection.on("error", () => connection.destroy());
    const authority = /^(?:[^\s:/?#@\\[\]]+|\[[\da-f:.]+\]):\d{1,5}$/i.exec(asked.url ?? "")?.[0];
    if (authority === undefined) throw judge.refuse("address_invalid", "CONNECT takes host:port");
    const { url, addresses } = await judge.permit(`https://${authority}`);
    if (!isForHost(asked.rawHeaders, url, false)) throw judge.mismatch(url, "Host header");
    const outside = await connectTo(url, addresses);
    const endInside = () => connection.destroy();
    outside.once("close", endInside).on("error", endInside);
    connection.write("HTTP/1.1 200 Connection established\r\n\r\n");
    if (head.length > 0) connection.unshift(head);
    const { bytes, first } = await readFirst(connection).catch((error: unknown) => {
      outside.destroy();
      throw error;
    });
    outside.off("close", endInside);
    connection.unshift(bytes);
    if (first.kind === "tls") {
      // An address has no name to ask for.
      const isAddress = addresses.some(({ address }) => address === hostOf(url));
      if ((first.serverName ?? (isAddress ? hostOf(url) : "")) !== hostOf(url)) {
        outside.destroy();
        connection.destroy();
        judge.mismatch(url, "name that TLS asks for");
        return;
      }
      judge.connected(url);
      joinStreams(connection, outside);
      return;
    }
    // Some programs send plain HTTP through a tunnel: each request is judged like any other.
    outside.destroy();
    tunnels.set(connection, authority);
    server.emit("connection", connection);
    connection.resume();
  }

  async function connectTo(url: URL, addresses: readonly HostAddress[]): Promise<Socket> {
    const { promise, resolve, reject } = Promise.withResolvers<Socket>();
    const socket = connect({
      host: hostOf(url),
      port: portOf(url),
      lookup: answerWith(addresses),
      noDelay: true,
      timeout: connectMs,
    });
    requireAddress(socket, addresses);
    socket.once("error", (error) => reject(judge.unreachable(url, error)));
    socket.once("timeout", () => socket.destroy(new Error("no answer")));
    socket.once("connect", () => {
      socket.setTimeout(0);
      resolve(socket);
    });
    return promise;
  }
}

const connectMs = 15_000;

/** Decides about one connection after the other, and records each decision. */
class EgressJudge {
  readonly #options: EgressOptions;
  readonly #allowPrivate: ReadonlySet<string>;

  constructor(options: EgressOptions) {
    this.#options = options;
    this.#allowPrivate = new Set(options.allowPrivate?.map((place) => place.toLowerCase()));
  }

  async permit(text: string): Promise<{ url: URL; addresses: readonly HostAddress[] }> {
    const { grants, lookup = systemLookup } = this.#options;
    let host = "";
    try {
      const url = readAddress(text);
      host = placeOf(url);
      // Before the look-up: the name of a host that is not granted is not even asked for.
      for (const granted of grants) requireGrantedHost(granted, url);
      const { signal } = new AbortController();
      return { url, addresses: await resolveHost(url, lookup, this.#allowPrivate, signal) };
    } catch (error) {
      const refused = error instanceof CallDenied ? error.rule : "not_reachable";
      this.#options.onConnection({ host, refused });
      throw error;
    }
  }

  connected(url: URL): void {
    this.#options.onConnection({ host: placeOf(url) });
  }

  unreachable(url: URL, cause: Error): Error {
    this.#options.onConnection({ host: placeOf(url), refused: "not_reachable" });
    return new Error(`${placeOf(url)} could not be reached: ${reasonOf(cause)}.`, { cause });
  }

  refuse(rule: string, why: string): CallDenied {
    this.#options.onConnection({ host: "", refused: rule });
    return new CallDenied(rule, `${why}.`);
  }

  mismatch(url: URL, what: string): CallDenied {
    this.#options.onConnection({ host: placeOf(url), refused: "host_mismatch" });
    return new CallDenied("host_mismatch", `The ${what} is not ${placeOf(url)}.`);
  }
}

function placeOf(url: URL): string {
  return `${url.hostname}:${portOf(url)}`;
}

function malformed(): CallDenied {
  return new CallDenied("address_invalid", "The request to the proxy could not be read.");
}

/** Connected to what was checked: the name is not asked for again. */
function requireAddress(socket: Socket, addresses: readonly HostAddress[]): void {
  socket.once("connect", () => {
    if (!isOneOf(socket.remoteAddress, addresses)) socket.destroy(new Error("changed its address"));
  });
}

type First = Exclude<ReturnType<typeof readClientHello>, { kind: "incomplete" }>;

/** A greeting comes at once, and in a few pieces: each piece makes all before it be read again. */
const helloMs = 30_000;
const mostPieces = 64;

/** Resolves when it is known what a tunnel carries; nothing was passed on before. */
async function readFirst(connection: Duplex): Promise<{ bytes: Buffer; first: First }> {
  let bytes = Buffer.alloc(0);
  let pieces = 0;
  const { promise, resolve, reject } = Promise.withResolvers<{ bytes: Buffer; first: First }>();
  const onData = (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    pieces += 1;
    const first = readClientHello(bytes);
    if (first.kind !== "incomplete") {
      connection.pause();
      resolve({ bytes, first });
    } else if (pieces > mostPieces) reject(malformed());
  };
  const onEnd = () => reject(malformed());
  connection.on("data", onData).once("end", onEnd).once("close", onEnd);
  const timer = setTimeout(onEnd, helloMs).unref();
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    connection.off("data", onData).off("end", onEnd).off("close", onEnd);
  }
}

function refuseRequest(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const text = `${messageOf(error)}\n`;
  const headers = { "content-type": "text/plain; charset=utf-8", connection: "close" };
  response.writeHead(error instanceof CallDenied ? 403 : 502, headers);
  response.end(text);
}

function refuseTunnel(connection: Duplex, error: unknown): void {
  if (!connection.writable) return;
  const text = `${messageOf(error)}\n`;
  const status = error instanceof CallDenied ? "403 Forbidden" : "502 Bad Gateway";
  connection.end(
    `HTTP/1.1 ${status}\r\ncontent-type: text/plain; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n${text}`,
  );
}
