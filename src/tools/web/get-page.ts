import { type IncomingHttpHeaders, type IncomingMessage, request as requestPlain } from "node:http";
import { request as requestSecure } from "node:https";
import { isIP, type Socket } from "node:net";
import { pipeline, type Readable, type Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { portOf } from "../../contracts/addresses.ts";
import { type Clock, timeoutSignal } from "../../ports/clock.ts";
import { systemReason } from "../../ports/message-of.ts";
import {
  answerWith,
  FetchFailure,
  followRedirect,
  type HostAddress,
  hostOf,
  isOneOf,
  type Lookup,
  resolveHost,
} from "../../workspaces/egress/web-address.ts";

export interface PageLimits extends GetLimits {
  /** From the first look-up to the last byte, redirects included. */
  readonly totalMs: number;
  readonly maxBytes: number;
  readonly maxRedirects: number;
}

export interface PageRequest {
  readonly url: URL;
  readonly lookup: Lookup;
  readonly allowPrivate: ReadonlySet<string>;
  readonly limits: PageLimits;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Throws when policy does not let a redirect lead there. */
  readonly permit: (next: URL) => void;
}

export interface Page {
  /** The address of the page after all redirects. */
  readonly url: URL;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly isCut: boolean;
}

/** Follows redirects, each as strictly checked as the first address. */
export async function getPage(request: PageRequest): Promise<Page> {
  const { clock, limits, signal } = request;
  const timeout = timeoutSignal(clock, limits.totalMs);
  try {
    return await follow(request, AbortSignal.any([signal, timeout]));
  } catch (error) {
    signal.throwIfAborted();
    if (!timeout.aborted) throw error;
    throw new FetchFailure(
      `Fetching took more than ${limits.totalMs / 1000} s, so it was stopped.`,
    );
  }
}

async function follow(request: PageRequest, signal: AbortSignal): Promise<Page> {
  const { lookup, allowPrivate, clock, limits } = request;
  let { url } = request;
  for (let redirects = 0; redirects <= limits.maxRedirects; redirects++) {
    const addresses = await resolveHost(url, lookup, allowPrivate, signal);
    const response = await sendGet(url, addresses, { limits, signal, clock });
    const { statusCode: status = 0, headers } = response;
    try {
      const next = followRedirect(url, status, headers.location);
      if (next === undefined) {
        const type = mediaTypeOf(headers["content-type"]);
        const isRead = isShownType(type);
        const body = isRead ? await readBody(response, limits.maxBytes) : nothing;
        return { url, status, headers, body: body.bytes, isCut: body.isCut };
      }
      request.permit(next);
      url = next;
    } catch (error) {
      throw describeBroken(error, url);
    } finally {
      response.destroy();
    }
  }
  throw new FetchFailure(
    `The address redirects more than ${limits.maxRedirects} times; it was not followed further ` +
      `than ${url.href}.`,
  );
}

const nothing = { bytes: Buffer.alloc(0), isCut: false };

/** Errors of the connection and of unpacking, told by their code alone. */
function describeBroken(error: unknown, url: URL): unknown {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  if (typeof code !== "string" || !/^(?:Z_|E|ERR_|HPE_)/.test(code)) return error;
  return new FetchFailure(
    `The reply of ${url.host} broke off or is damaged: ${systemReason(code) ?? code}.`,
    {
      cause: error,
    },
  );
}

export interface GetLimits {
  readonly connectMs: number;
  /** The time until the reply's headers are complete, the connection included. */
  readonly headersMs: number;
}

/** No browser, and nothing about the person: no cookies, no credentials, no referrer. */
const headers: Readonly<Record<string, string>> = {
  "user-agent": "Mozilla/5.0 (compatible; mandate)",
  accept: "text/markdown, text/html;q=0.9, application/json;q=0.8, text/*;q=0.8, */*;q=0.5",
  "accept-encoding": "gzip, br",
  "accept-language": "en, *;q=0.5",
};

/**
 * One request on one new connection, to exactly the addresses given: the name is not asked for
 * again, and proxies of the environment do not come in between.
 */
export function sendGet(
  url: URL,
  addresses: readonly HostAddress[],
  { clock, limits, signal }: Pick<PageRequest, "clock" | "signal"> & { readonly limits: GetLimits },
): Promise<IncomingMessage> {
  const host = hostOf(url);
  const isSecure = url.protocol === "https:";
  const send = isSecure ? requestSecure : requestPlain;
  return new Promise((resolve, reject) => {
    const request = send({
      hostname: host,
      port: portOf(url),
      path: `${url.pathname}${url.search}`,
      method: "GET",
      headers: { ...headers, host: url.host },
      agent: false,
      lookup: answerWith(addresses),
      signal,
      maxHeaderSize: 32 * 1024,
      ...(isSecure && { rejectUnauthorized: true, servername: isIP(host) === 0 ? host : "" }),
    });
    const giveUp = (what: string) => () =>
      request.destroy(new FetchFailure(`${url.host} ${what}.`));
    const connecting = clock.after(limits.connectMs, giveUp("could not be connected to in time"));
    const waiting = clock.after(limits.headersMs, giveUp("did not answer in time"));
    const clear = () => {
      connecting.cancel();
      waiting.cancel();
    };
    request.on("socket", (socket: Socket) => {
      socket.once("connect", () => {
        if (!isOneOf(socket.remoteAddress, addresses)) giveUp("changed its address")();
      });
      socket.once(isSecure ? "secureConnect" : "connect", () => connecting.cancel());
    });
    request.once("response", (response) => {
      clear();
      resolve(response);
    });
    // The socket is ours alone from here on: the request no longer closes it or hears its errors.
    request.once("upgrade", (_response, socket) => {
      clear();
      socket.on("error", () => undefined);
      socket.destroy();
      reject(new FetchFailure(`${url.host} answered with another protocol.`));
    });
    request.on("error", (error) => {
      clear();
      reject(describeError(error, url));
    });
    request.end();
  });
}

/** Describes an error by its code only: messages of the system name addresses. */
function describeError(error: Error, url: URL): Error {
  if (error instanceof FetchFailure || error.name === "AbortError") return error;
  const { code = "unknown error" } = error as NodeJS.ErrnoException;
  const message = `${url.host} could not be fetched: ${systemReason(code) ?? code}.`;
  return new FetchFailure(message, { cause: error });
}

export interface Body {
  readonly bytes: Buffer;
  /** Whether the page had more text. */
  readonly isCut: boolean;
}

const decoders: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  br: createBrotliDecompress,
  deflate: createInflate,
};

/**
 * The reply's body, unpacked, up to `maxBytes`. Counted while it is unpacked, so that a small reply
 * which unpacks to a large one is stopped on the way; what is sent is counted as well, because a
 * reply can be endless and unpack to nothing.
 */
async function readBody(response: IncomingMessage, maxBytes: number): Promise<Body> {
  const source = unpack(response, maxBytes);
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > maxBytes) break;
    }
  } finally {
    source.destroy();
    response.destroy();
  }
  const isCut = length > maxBytes;
  return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), isCut };
}

function unpack(response: IncomingMessage, maxBytes: number): Readable {
  const encoding = (response.headers["content-encoding"] ?? "identity").trim().toLowerCase();
  if (encoding === "identity" || encoding === "") return response;
  const make = Object.hasOwn(decoders, encoding) ? decoders[encoding] : undefined;
  if (make === undefined) {
    throw new FetchFailure("The reply is packed in a way that was not asked for.");
  }
  const decoder = make();
  let sent = 0;
  response.on("data", (chunk: Buffer) => {
    sent += chunk.length;
    if (sent > maxBytes + 65_536) decoder.destroy(new FetchFailure("The reply does not end."));
  });
  // Errors of both streams reach the reader of the decoder.
  pipeline(response, decoder, () => undefined);
  return decoder;
}

export interface MediaType {
  /** Lower case, without parameters; empty when the sender named none that is one. */
  readonly name: string;
  readonly charset: string | undefined;
}

export function mediaTypeOf(header: string | undefined): MediaType {
  const name = /^\s*([\w.+-]{1,80}\/[\w.+-]{1,80})\s*(?:;|$)/.exec(header ?? "")?.[1] ?? "";
  const charset = /;\s*charset\s*=\s*"?([\w:.-]{1,40})/i.exec(header ?? "")?.[1];
  return { name: name.toLowerCase(), charset };
}

/** Pictures, sounds and fonts have no text to read, so their bytes are not loaded. */
function isShownType({ name }: MediaType): boolean {
  return !/^(?:image\/(?!svg)|audio\/|video\/|font\/)/.test(name);
}

export function isHtmlType({ name }: MediaType): boolean {
  return name === "text/html" || name === "application/xhtml+xml";
}

/** Named as something to read; what is not named is judged by its bytes. */
export function isTextType({ name }: MediaType): boolean {
  if (name.startsWith("text/") || /[+/](?:json|xml|yaml)$/.test(name)) return true;
  return /^application\/(?:x-)?(?:ndjson|jsonl|javascript|ecmascript|sh|toml|sql|markdown)$/.test(
    name,
  );
}
