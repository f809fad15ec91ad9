import { type IncomingMessage, request as requestPlain } from "node:http";
import { request as requestSecure } from "node:https";
import { isIP, type LookupFunction, type Socket } from "node:net";
import { portOf } from "../../contracts/addresses.ts";
import type { Clock } from "../../ports/clock.ts";
import { FetchFailure } from "./fetch-failure.ts";
import { canonicalAddress } from "./public-address.ts";
import { hostOf } from "./read-address.ts";
import type { HostAddress } from "./resolve-host.ts";

export interface GetLimits {
  readonly connectMs: number;
  /** Until the reply's headers are complete, the connection included. */
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
  limits: GetLimits,
  signal: AbortSignal,
  clock: Clock,
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

function answerWith(addresses: readonly HostAddress[]): LookupFunction {
  return (_host, options, callback) => {
    const [first] = addresses;
    if (options.all) callback(null, [...addresses]);
    else callback(null, first?.address ?? "", first?.family ?? 0);
  };
}

function isOneOf(address: string | undefined, addresses: readonly HostAddress[]): boolean {
  if (address === undefined) return false;
  const connected = canonicalAddress(address);
  return addresses.some((each) => canonicalAddress(each.address) === connected);
}

/** By code only: messages of the system name addresses. */
function describeError(error: Error, url: URL): Error {
  if (error instanceof FetchFailure || error.name === "AbortError") return error;
  const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
  return new FetchFailure(`${url.host} could not be fetched (${code}).`, { cause: error });
}
