import { lookup as lookUpName } from "node:dns/promises";
import { isIP } from "node:net";
import { portOf } from "../../contracts/addresses.ts";
import { CallDenied } from "../../ports/mandate-error.ts";
import { FetchFailure } from "./fetch-failure.ts";
import { canonicalAddress, isPublicAddress } from "./public-address.ts";
import { hostOf } from "./read-address.ts";

export interface HostAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** All addresses of a name. Asked once per request: the answer is both checked and connected to. */
export type Lookup = (host: string) => Promise<readonly HostAddress[]>;

const mostAddresses = 16;

/** As other programs on this machine resolve names, its hosts file included. */
export const systemLookup: Lookup = async (host) => {
  const found = await lookUpName(host, { all: true });
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
};

/**
 * The addresses that may be connected to for this URL. One that is not public denies them all: a
 * name that leads to both is made to slip through.
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
  const found = await abortable(askFor(host, lookup), signal);
  requirePublic(
    url,
    found.map(({ address }) => address),
    allowPrivate,
  );
  return found.slice(0, mostAddresses);
}

/** Throws when one of them may not be connected to, unless the operator named it or the host. */
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
    // Which address is not said: names of an inner network are not to be mapped this way.
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
    const code = (error as NodeJS.ErrnoException | undefined)?.code ?? "no answer";
    throw new FetchFailure(`${host} was not found (${code}). Check the name.`, { cause: error });
  }
  if (found.length === 0) throw new FetchFailure(`${host} has no address. Check the name.`);
  return found;
}

/** Asking for a name cannot be called off, but its caller need not wait. */
function abortable<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
