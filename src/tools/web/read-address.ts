import { portOf } from "../../contracts/addresses.ts";
import { CallDenied } from "../../ports/mandate-error.ts";

const longest = 4096;

/** Ports of other protocols, which a request could be made to speak; as browsers refuse them. */
const foreignPorts: ReadonlySet<number> = new Set([
  ...[1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6379, 6566, 6679, 6697, 10080],
  ...[6665, 6666, 6667, 6668, 6669, 11211],
]);

/**
 * The one reading of an address that everything after it uses: what is granted, what is looked up
 * and what is connected to. What different programs read differently is refused, not repaired.
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
  // One dot at the end is the same host, spelled so that a list of hosts may not know it.
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
