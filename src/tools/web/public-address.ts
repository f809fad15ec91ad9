import { BlockList, isIPv4, isIPv6 } from "node:net";

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
  // Of IPv6 only this block is given out; mapped, compatible, unique-local and all others are not.
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

/** The last 32 bits. */
function embeddedIpv4(address: string): string {
  // "64:ff9b::" and "64:ff9b::1" have empty groups where zeros are.
  const [high, low] = canonicalIpv6(address).split(":").slice(-2);
  const bits = Number.parseInt(high || "0", 16) * 65_536 + Number.parseInt(low || "0", 16);
  return [24, 16, 8, 0].map((shift) => Math.floor(bits / 2 ** shift) % 256).join(".");
}

/** One spelling for one address, as URLs write it. */
export function canonicalAddress(address: string): string {
  return isIPv6(address) ? canonicalIpv6(address) : address;
}

function canonicalIpv6(address: string): string {
  return URL.parse(`http://[${address}]/`)?.hostname.slice(1, -1) ?? address;
}
