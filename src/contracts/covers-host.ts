import { isIPv6 } from "node:net";
import type { Selection } from "./selection.ts";

/**
 * Whether a selection of hosts names where an address leads: by the host's name, by `*.example.com`
 * for all below example.com (not itself), or with a port for that port alone.
 */
export function coversHost(hosts: Selection, url: URL): boolean {
  if (hosts === "*") return true;
  return hosts.some((entry) => covers(entry.trim(), url));
}

function covers(entry: string, url: URL): boolean {
  const isPattern = entry.startsWith("*.");
  const named = parseEntry(isPattern ? entry.slice(2) : entry);
  if (named === undefined) return false;
  if (named.port !== undefined && named.port !== portOf(url)) return false;
  return isPattern ? url.hostname.endsWith(`.${named.host}`) : url.hostname === named.host;
}

/** Spelled as addresses are; an entry that is more or less than a host names nothing. */
function parseEntry(entry: string): { host: string; port: number | undefined } | undefined {
  const text = isIPv6(entry) ? `[${entry}]` : entry;
  if (!/^[^\s/\\?#@%*\p{Cc}]+$/u.test(text)) return undefined;
  const url = URL.parse(`https://${text}`);
  if (url === null) return undefined;
  const port = /:(\d+)$/.exec(text)?.[1];
  const host = url.hostname.replace(/\.$/, "");
  return host === "" ? undefined : { host, port: port === undefined ? undefined : Number(port) };
}

export function portOf({ port, protocol }: URL): number {
  if (port !== "") return Number(port);
  return protocol === "https:" ? 443 : 80;
}
