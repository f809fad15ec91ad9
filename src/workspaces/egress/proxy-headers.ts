import type { IncomingHttpHeaders } from "node:http";
import { portOf } from "../../contracts/addresses.ts";

/** Meant for the next machine only, or for the proxy itself. */
const ofOneHop: ReadonlySet<string> = new Set([
  ...["connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization"],
  ...["te", "trailer", "transfer-encoding", "upgrade", "http2-settings", "expect"],
]);

/**
 * How the body of a request is framed, whatever its method and its other headers say: without this a
 * body would follow a request that announces none, and the server would read it as the next request.
 */
export function framingOf(headers: IncomingHttpHeaders): Record<string, string> {
  const length = headers["content-length"];
  if (length !== undefined) return { "content-length": length };
  return headers["transfer-encoding"] === undefined ? {} : { "transfer-encoding": "chunked" };
}

/** Headers that are passed on. The proxy frames each body itself, so that no request hides in it. */
export function endToEndHeaders(raw: readonly string[]): Record<string, string[]> {
  const pairs = pairsOf(raw);
  const named = pairs
    .filter(([name]) => name === "connection")
    .flatMap(([, value]) => value.toLowerCase().split(","))
    .map((name) => name.trim());
  const kept = new Map<string, string[]>();
  for (const [name, value] of pairs) {
    if (ofOneHop.has(name) || named.includes(name)) continue;
    kept.set(name, [...(kept.get(name) ?? []), value]);
  }
  return Object.fromEntries(kept);
}

/**
 * Whether the Host header names the host of the request: another name would be another site of the
 * same machine. `isNeeded`: without the header it is not for it.
 */
export function isForHost(raw: readonly string[], url: URL, isNeeded: boolean): boolean {
  const hosts = pairsOf(raw).flatMap(([name, value]) => (name === "host" ? [value] : []));
  const [host] = hosts;
  if (host === undefined) return !isNeeded;
  if (hosts.length > 1 || !/^[^\s/?#@\\]+$/.test(host)) return false;
  const named = URL.parse(`${url.protocol}//${host}`);
  if (named === null || named.hostname.replace(/\.$/, "") !== url.hostname) return false;
  // A tunnel's header may leave out the port.
  return portOf(named) === portOf(url) || (!isNeeded && named.port === "");
}

function pairsOf(raw: readonly string[]): (readonly [string, string])[] {
  const pairs: (readonly [string, string])[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) {
    pairs.push([(raw[at] ?? "").toLowerCase(), raw[at + 1] ?? ""]);
  }
  return pairs;
}
