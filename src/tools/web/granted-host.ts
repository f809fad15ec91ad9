import { isIPv6 } from "node:net";
import type { Selection } from "../../contracts/selection.ts";
import { CallDenied } from "../../ports/call-denied.ts";
import { portOf } from "./read-address.ts";

/**
 * Whether a contract lets this host be reached: by its name, by `*.example.com` for all below
 * example.com (not itself), or with a port for that port alone.
 */
function isGrantedHost(network: Selection, url: URL): boolean {
  if (network === "*") return true;
  return network.some((entry) => covers(entry.trim(), url));
}

export function requireGrantedHost(network: Selection, url: URL, isRedirect = false): void {
  if (isGrantedHost(network, url)) return;
  const hosts = network === "*" || network.length === 0 ? "none" : network.slice(0, 20).join(", ");
  const what = isRedirect ? `${url.host}, where the page redirects to` : url.host;
  throw new CallDenied(
    "host_not_granted",
    `You may not reach ${what}: your contract grants ${hosts}. Use a granted host, or report ` +
      "what is missing.",
  );
}

function covers(entry: string, url: URL): boolean {
  const isPattern = entry.startsWith("*.");
  const named = parseEntry(isPattern ? entry.slice(2) : entry);
  if (named === undefined) return false;
  if (named.port !== undefined && named.port !== portOf(url)) return false;
  return isPattern ? url.hostname.endsWith(`.${named.host}`) : url.hostname === named.host;
}

/** Spelled as addresses are; an entry that is more or less than a host grants nothing. */
function parseEntry(entry: string): { host: string; port: number | undefined } | undefined {
  const text = isIPv6(entry) ? `[${entry}]` : entry;
  if (!/^[^\s/\\?#@%*\p{Cc}]+$/u.test(text)) return undefined;
  const url = URL.parse(`https://${text}`);
  if (url === null) return undefined;
  const port = /:(\d+)$/.exec(text)?.[1];
  const host = url.hostname.replace(/\.$/, "");
  return host === "" ? undefined : { host, port: port === undefined ? undefined : Number(port) };
}
