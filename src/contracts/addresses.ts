import { isIPv6 } from "node:net";
import type { Selection } from "./selection.ts";

/** The addresses of a text, each as it is fetched: `href` without its fragment. */
export function addressesIn(text: string): ReadonlySet<string> {
  const found = new Set<string>();
  for (const { index } of text.matchAll(/https?:\/\//gi)) {
    for (const spelling of spellingsAt(text, index)) {
      const url = readAddress(spelling);
      if (url !== undefined) found.add(url.href);
    }
  }
  return found;
}

/**
 * The origins that a person named: of whole addresses, and of bare host names. A file's name can look
 * like a host's, so bare names count under a few well-known endings only.
 */
export function originsIn(text: string): readonly string[] {
  const origins = [...addressesIn(text)].map((href) => new URL(href).origin);
  const named = [...text.matchAll(bareHost)].map(([host]) => `https://${host.toLowerCase()}`);
  return [...new Set([...origins, ...named])];
}

const bareHost =
  /(?<![\w@./:-])(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?:com|org|net|edu|gov|io|dev)(?![\w-]|\.\w)/gi;

/** Longer ones are not fetched. */
const longest = 4096;

/** An address as it stands, and without the signs at its end that may belong to the sentence. */
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
