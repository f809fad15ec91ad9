import type { AllowedHosts } from "./allowed-hosts.ts";
import { HttpProblem } from "./problem.ts";

/** The headers that say where a request comes from; null where one is missing. */
export interface Provenance {
  readonly host: string | null;
  readonly origin: string | null;
  /** Sec-Fetch-Site: browsers set it, and no page can. */
  readonly site: string | null;
}

export function provenanceOf(request: Request): Provenance {
  return {
    // Over a socket there always is one; a request made by hand has its URL alone.
    host: request.headers.get("host") ?? new URL(request.url).host,
    origin: request.headers.get("origin"),
    site: request.headers.get("sec-fetch-site"),
  };
}

/** Is it us who are meant? A page whose name was pointed at this machine sends its own name. */
export function checkHost({ host }: Provenance, allowed: AllowedHosts): void {
  if (host !== null && allowed.hasHost(host)) return;
  throw new HttpProblem(
    "host-unknown",
    "This server does not answer to that name. Use its address, or start it with --allow-host NAME.",
  );
}

/**
 * Refuses what another site's page sends, also with a good token. A missing origin is no proof of
 * anything: programs have none, and they have to have a token.
 */
export function checkOrigin({ origin, site }: Provenance, allowed: AllowedHosts): void {
  const isForeign = origin !== null && !allowed.hasOrigin(origin);
  const isCrossSite = site !== null && site !== "same-origin" && site !== "none";
  if (!isForeign && !isCrossSite) return;
  throw new HttpProblem("forbidden", "Requests from other sites are not answered.");
}

/**
 * Whether the page that sent this was served by us. Cookies go along with requests of other ports
 * of this machine too, so a cookie counts only together with this.
 */
export function isSameOrigin({ host, origin, site }: Provenance): boolean {
  if (host === null) return false;
  if (origin === null) return site === "same-origin";
  const [, rest] = /^https?:\/\/(.+)$/.exec(origin) ?? [];
  return rest === host.toLowerCase();
}
