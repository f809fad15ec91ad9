import { coversHost } from "../../contracts/addresses.ts";
import type { Selection } from "../../contracts/selection.ts";
import { CallDenied } from "../../ports/mandate-error.ts";

/** Refuses a host that the contract does not let be reached. */
export function requireGrantedHost(network: Selection, url: URL, isRedirect = false): void {
  if (coversHost(network, url)) return;
  const hosts = network === "*" || network.length === 0 ? "none" : network.slice(0, 20).join(", ");
  const what = isRedirect ? `${url.host}, where the page redirects to` : url.host;
  throw new CallDenied(
    "host_not_granted",
    `You may not reach ${what}: your contract grants ${hosts}. Use a granted host, or report ` +
      "what is missing.",
  );
}
