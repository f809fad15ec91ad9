/**
 * Egress: which addresses may be reached. The web tools and the proxy of the sandbox ask this file;
 * the other files of the folder are that proxy. May import what workspaces may.
 */
import { lookup as lookUpName } from "node:dns/promises";
import { BlockList, isIP, isIPv4, isIPv6, type LookupFunction } from "node:net";
import { coversHost, portOf } from "../../contracts/addresses.ts";
import type { Selection } from "../../contracts/selection.ts";
import { untilAborted } from "../../ports/clock.ts";
import { CallDenied } from "../../ports/mandate-error.ts";
import { reasonOf } from "../../ports/message-of.ts";

const longest = 4096;

/** Ports of other protocols, which a request could be made to speak; as browsers refuse them. */
const foreignPorts: ReadonlySet<number> = new Set([
  ...[1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6379, 6566, 6679, 6697, 10080],
  ...[6665, 6666, 6667, 6668, 6669, 11211],
]);

/**
 * Parses an address once, for the grant, the look-up and the connection alike. An address that
 * programs parse differently is refused, not repaired.
 */
export function readAddress(text: string, base?: URL): URL {
  if (text.length > longest) throw invalid(`it is longer than ${longest} characters`);
  // Parsers drop some of these and stop at others.
  if (/\p{Cc}|^[^?#]*\\/u.test(text)) {
    throw invalid("it holds control characters or a backslash");
  }
  const url = URL.parse(text, base?.href);
  if (url === null) throw invalid("it is not an absolute URL with a valid host");
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw invalid("only http and https can be fetched");
  }
  if (url.username !== "" || url.password !== "") {
    throw invalid("it carries a user name or password, which are never sent");
  }
  url.hash = "";
  // A dot at the end means the same host, but would not match a list of hosts.
  url.hostname = url.hostname.replace(/\.$/, "");
  if (url.hostname === "" || /^\.|\.\.|\.$/.test(url.hostname))
    throw invalid("its host is not one");
  const port = portOf(url);
  if ((port < 1024 && port !== 80 && port !== 443) || foreignPorts.has(port)) {
    throw invalid(`port ${port} is not one that web pages are served on`);
  }
  return url;
}

/** Without the brackets around an IPv6 address. */
export function hostOf(url: URL): string {
  return url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname;
}

function invalid(why: string): CallDenied {
  return new CallDenied("address_invalid", `This address cannot be fetched: ${why}.`);
}

export interface HostAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** All addresses of a name. Asked once per request: the answer is both checked and connected to. */
export type Lookup = (host: string) => Promise<readonly HostAddress[]>;

const mostAddresses = 16;

/** The resolver of the system, hosts file included. */
export const systemLookup: Lookup = async (host) => {
  const found = await lookUpName(host, { all: true });
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
};

/**
 * The addresses that may be connected to for this URL. One address that is not public denies all of
 * them: a name that resolves to both kinds is an attack (DNS rebinding).
 */
export async function resolveHost(
  url: URL,
  lookup: Lookup,
  allowPrivate: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<readonly HostAddress[]> {
  const host = hostOf(url);
  const family = isIP(host);
  if (family === 4 || family === 6) {
    requirePublic(url, [host], allowPrivate);
    return [{ address: host, family }];
  }
  // A look-up cannot be cancelled, but its caller need not wait for it.
  const found = await untilAborted(signal, askFor(host, lookup));
  requirePublic(
    url,
    found.map(({ address }) => address),
    allowPrivate,
  );
  return found.slice(0, mostAddresses);
}

/** For a connection to exactly these addresses: the name is not asked for again. */
export function answerWith(addresses: readonly HostAddress[]): LookupFunction {
  return (_host, options, callback) => {
    const [first] = addresses;
    if (options.all) callback(null, [...addresses]);
    else callback(null, first?.address ?? "", first?.family ?? 0);
  };
}

export function isOneOf(address: string | undefined, addresses: readonly HostAddress[]): boolean {
  if (address === undefined) return false;
  const connected = canonicalAddress(address);
  return addresses.some((each) => canonicalAddress(each.address) === connected);
}

/** Throws when an address of the host may not be connected to, unless the operator allows it or the host. */
export function requirePublic(
  url: URL,
  addresses: readonly string[],
  allowPrivate: ReadonlySet<string>,
): void {
  const port = portOf(url);
  if (allowPrivate.has(`${url.hostname}:${port}`)) return;
  for (const address of addresses) {
    const spelled = address.includes(":") ? `[${canonicalAddress(address)}]` : address;
    if (isPublicAddress(address) || allowPrivate.has(`${spelled}:${port}`)) continue;
    // The address is not named: otherwise an agent could map an internal network.
    throw new CallDenied(
      "address_not_public",
      `${url.host} is not a public address but a private, local or reserved one, so it is not ` +
        "fetched.",
    );
  }
}

async function askFor(host: string, lookup: Lookup): Promise<readonly HostAddress[]> {
  let found: readonly HostAddress[] = [];
  try {
    found = await lookup(host);
  } catch (error) {
    const message = `${host} was not found: ${reasonOf(error)}. Check the name.`;
    throw new FetchFailure(message, { cause: error });
  }
  if (found.length === 0) throw new FetchFailure(`${host} has no address. Check the name.`);
  return found;
}

/**
 * Whether an address belongs to the public internet. Loopback, private, shared, link-local,
 * multicast, documentation and reserved ranges do not, nor do addresses of machines' own metadata
 * services; what does not parse does not either.
 */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !closed.check(address, "ipv4");
  if (!isIPv6(address) || address.includes("%")) return false;
  // A translator's address stands for an IPv4 address, and is as public as that is.
  if (translated.check(address, "ipv6")) return isPublicAddress(embeddedIpv4(address));
  // Only this block of IPv6 is public; mapped, compatible, unique-local and all other addresses are not.
  return open.check(address, "ipv6") && !closed.check(address, "ipv6");
}

const closed = blocks([
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"],
  ...["172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24"],
  ...["192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15"],
  ...["198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"],
  // Public by its number, and yet the metadata and agent service of every machine on Azure.
  "168.63.129.16/32",
  // Special purposes (Teredo and ORCHID among them), documentation, 6to4.
  ...["2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"],
]);

const open = blocks(["2000::/3"]);
const translated = blocks(["64:ff9b::/96"]);

function blocks(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [network = "", length] = range.split("/");
    list.addSubnet(network, Number(length), isIPv4(network) ? "ipv4" : "ipv6");
  }
  return list;
}

/** The last 32 bits of an IPv6 address, as an IPv4 address. */
function embeddedIpv4(address: string): string {
  // "64:ff9b::" and "64:ff9b::1" have empty groups where zeros are.
  const [high, low] = canonicalIpv6(address).split(":").slice(-2);
  const bits = Number.parseInt(high || "0", 16) * 65_536 + Number.parseInt(low || "0", 16);
  return [24, 16, 8, 0].map((shift) => Math.floor(bits / 2 ** shift) % 256).join(".");
}

/** One spelling for one address, as URLs write it. */
function canonicalAddress(address: string): string {
  return isIPv6(address) ? canonicalIpv6(address) : address;
}

function canonicalIpv6(address: string): string {
  return URL.parse(`http://[${address}]/`)?.hostname.slice(1, -1) ?? address;
}

/** Refuses a host that the contract does not let be reached. */
export function requireGrantedHost(network: Selection, url: URL, what = url.host): void {
  if (coversHost(network, url)) return;
  const hosts = network === "*" || network.length === 0 ? "none" : network.slice(0, 20).join(", ");
  throw new CallDenied(
    "host_not_granted",
    `You may not reach ${what}: your contract grants ${hosts}. Use a granted host, or report ` +
      "what is missing.",
  );
}

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** The target of a redirect, checked like the first address; undefined: the reply is no redirect. */
export function followRedirect(
  from: URL,
  status: number,
  location: string | undefined,
): URL | undefined {
  if (!redirects.has(status) || location === undefined) return undefined;
  // Some servers send UTF-8, although headers are Latin-1.
  const text = Buffer.from(location.trim(), "latin1").toString("utf8");
  const next = readAddress(text.includes("\ufffd") ? location.trim() : text, from);
  if (from.protocol === "https:" && next.protocol === "http:") {
    throw new FetchFailure(
      `${from.host} redirects from https to http (${next.host}), which is not followed: what ` +
        "comes back could be anybody's.",
    );
  }
  return next;
}

/** What a server or the network did, in a sentence for the model that asked. */
export class FetchFailure extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "FetchFailure";
  }
}

/** A sentence for a `retry-after` header; empty without a usable one. */
export function describeRetryAfter(header: string | undefined, now: number): string {
  if (header === undefined) return "";
  const text = header.trim();
  const seconds = /^\d{1,9}$/.test(text)
    ? Number(text)
    : Math.ceil((Date.parse(text) - now) / 1000);
  if (!Number.isFinite(seconds) || seconds < 0) return "";
  return `The server asks to wait ${seconds} s before the next request.`;
}
