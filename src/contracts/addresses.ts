import { isIPv6 } from "node:net";
import type { Selection } from "./selection.ts";

/**
 * Addresses and hosts: found in the texts of people, and matched by the `network` and `ways_out` of a
 * contract. Imports selections only.
 */

/** The addresses in a text, each as it would be fetched: `href` without its fragment. */
export function addressesIn(text: string): ReadonlySet<string> {
  const found = new Set<string>();
  // Most texts have no address, and plain search is many times faster than the expression.
  if (!text.includes("://")) return found;
  for (const { index } of text.matchAll(/https?:\/\//gi)) {
    for (const spelling of spellingsAt(text, index)) {
      const url = readAddress(spelling);
      if (url !== undefined) found.add(url.href);
    }
  }
  return found;
}

/**
 * The origins that a person named, by whole addresses and by bare host names. A file name can look like
 * a host name, so bare names count only under a few well-known top-level domains.
 */
export function originsIn(text: string): readonly string[] {
  const origins = [...addressesIn(text)].map((href) => new URL(href).origin);
  const named = [...text.matchAll(bareHost)].map(([host]) => `https://${host.toLowerCase()}`);
  return [...new Set([...origins, ...named])];
}

const bareHost =
  /(?<![\w@./:-])(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?:com|org|net|edu|gov|io|dev)(?![\w-]|\.\w)/gi;

/** Longer addresses are not fetched. */
const longest = 4096;

/** An address as written, and without the punctuation at its end, which may belong to the sentence. */
function* spellingsAt(text: string, start: number): Generator<string> {
  const [run = ""] = /^[^\s<>"`\\^{}|]+/.exec(text.slice(start, start + longest)) ?? [];
  const [written = ""] = run.split("](", 1);
  for (let end = written.length; end > 0; end--) {
    yield written.slice(0, end);
    if (!/[.,;:!?'*_~()[\]]/.test(written.charAt(end - 1))) return;
  }
}

function readAddress(text: string): URL | undefined {
  const url = URL.parse(text);
  if (url === null || url.username !== "" || url.password !== "") return undefined;
  url.hash = "";
  url.hostname = url.hostname.replace(/\.$/, "");
  return url;
}

/**
 * Whether a selection of hosts includes the host of an address. An entry is a host name,
 * `*.example.com` for every subdomain (without example.com), or either with a port.
 * @example coversHost(["*.example.com"], new URL("https://api.example.com/v1")) // true
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

/** The host and port of an entry, normalized like a URL; undefined: the entry is not a host. */
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
