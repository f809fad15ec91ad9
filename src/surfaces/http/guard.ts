import type { AccessTokens } from "../../control/access/access-tokens.ts";
import type { Principal } from "../../control/records/principal.ts";
import type { AllowedHosts } from "./allowed-hosts.ts";
import { mostSealedCharacters, type PageSessions } from "./page/page-sessions.ts";
import { HttpProblem } from "./problem.ts";
import { type Rate, RateLimiter } from "./rate-limiter.ts";

export interface GuardOptions {
  readonly tokens: Pick<AccessTokens, "authenticate">;
  readonly pages: PageSessions;
  readonly allowed: AllowedHosts;
  readonly cookieName: string;
  readonly monotonic: () => number;
  /** Of one principal. */
  readonly rate?: Rate | undefined;
  /** Of tokens and codes from one address that are none. */
  readonly failureRate?: Rate | undefined;
}

/** Somebody, and the token that says so. */
export interface Caller {
  readonly principal: Principal;
  readonly token: string;
  /** Of the page that speaks with its cookie; undefined: the token itself was presented. */
  readonly session: string | undefined;
}

const usualRate: Rate = { perSecond: 100, burst: 200 };
const usualFailureRate: Rate = { perSecond: 1, burst: 20 };

/**
 * Stands before everything but static files. In this order: is it us who are meant, does it come
 * from a place that may ask, who is it, and does it ask too often. Nothing of a request's body has
 * been read by then.
 */
export class Guard {
  readonly #options: GuardOptions;
  readonly #principals: RateLimiter;
  readonly #failures: RateLimiter;

  constructor(options: GuardOptions) {
    const { rate = usualRate, failureRate = usualFailureRate, monotonic } = options;
    this.#options = options;
    this.#principals = new RateLimiter(rate, monotonic);
    this.#failures = new RateLimiter(failureRate, monotonic);
  }

  checkHost(request: Request): void {
    checkHost(provenanceOf(request), this.#options.allowed);
  }

  checkPlace(request: Request): void {
    const provenance = provenanceOf(request);
    checkHost(provenance, this.#options.allowed);
    checkOrigin(provenance, this.#options.allowed);
    if (request.method === "OPTIONS") {
      // No other origin is ever granted anything, so there is nothing to ask for beforehand.
      throw new HttpProblem("method-not-allowed", "This server grants nothing to other origins.", {
        headers: { allow: "GET, POST, PUT, DELETE" },
      });
    }
  }

  /** Who asks. Throws for nobody, for a stranger, and for whoever asks too often. */
  async identify(request: Request, address: string): Promise<Caller> {
    const credentials = await this.#credentialsOf(request);
    if (credentials === undefined) throw unauthenticated("A token is required.");
    const { session, token } = credentials;
    const principal = await this.#authenticate(token);
    if (principal === undefined) {
      this.refuseGuesser(address);
      throw unauthenticated("This token is not known, or does not hold any more.", true);
    }
    const wait = this.#principals.take(principal.id);
    if (wait > 0) throw tooMany(wait);
    return { principal, token, session };
  }

  /** What costs more than other requests is taken from what the next ones have. */
  charge({ id }: Principal, cost: number): void {
    this.#principals.spend(id, cost);
  }

  /** The exchange of a page's code: before it there is nobody, so the page must be ours. */
  checkPage(request: Request): void {
    if (isSameOrigin(provenanceOf(request))) return;
    throw new HttpProblem("forbidden", "Only a page of this server can begin a session.");
  }

  /**
   * Counts a token or a code that is none, and throws when there were too many. Good ones are never
   * held up by it: on one machine all have one address, and a stranger could lock everybody out.
   * What there is to guess has 256 random bits.
   */
  refuseGuesser(address: string): void {
    const wait = this.#failures.take(address);
    if (wait > 0) throw tooMany(wait);
  }

  /** The session in a request's cookie; whether it counts is another question. */
  sessionOf(request: Request): string | undefined {
    const cookies = request.headers.get("cookie")?.split(";") ?? [];
    const prefix = `${this.#options.cookieName}=`;
    const own = cookies
      .map((cookie) => cookie.trim())
      .filter((cookie) => cookie.startsWith(prefix));
    // Somebody else on this machine may have set one of the same name: then neither counts.
    const end = prefix.length + mostSealedCharacters;
    return own.length === 1 ? own[0]?.slice(prefix.length, end) : undefined;
  }

  /** A token that was presented decides; a cookie is not looked at beside it. */
  async #credentialsOf(request: Request): Promise<Pick<Caller, "session" | "token"> | undefined> {
    const authorization = request.headers.get("authorization");
    if (authorization !== null) {
      const [, token] = /^bearer +([\w.~+/=-]{1,512})$/i.exec(authorization) ?? [];
      if (token === undefined) throw unauthenticated('"Authorization" takes: Bearer TOKEN.', true);
      return { token, session: undefined };
    }
    const session = this.sessionOf(request);
    if (session === undefined) return undefined;
    if (!isSameOrigin(provenanceOf(request))) {
      throw new HttpProblem("forbidden", "A page's session counts for that page alone.");
    }
    const token = await this.#options.pages.tokenOf(session);
    if (token === undefined) throw unauthenticated("The session has ended. Open the page again.");
    return { token, session };
  }

  async #authenticate(token: string): Promise<Principal | undefined> {
    try {
      return await this.#options.tokens.authenticate(token);
    } catch (cause) {
      // Whatever it says about files of this machine is for the log, not for a stranger.
      throw new Error("Tokens cannot be checked.", { cause });
    }
  }
}

function unauthenticated(detail: string, isWrong = false): HttpProblem {
  const challenge = `Bearer realm="mandate"${isWrong ? ', error="invalid_token"' : ""}`;
  return new HttpProblem("unauthenticated", detail, { headers: { "www-authenticate": challenge } });
}

function tooMany(seconds: number): HttpProblem {
  return new HttpProblem("too-many-requests", `Too many requests. Wait ${seconds} s.`, {
    headers: { "retry-after": String(seconds) },
  });
}

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
function checkHost({ host }: Provenance, allowed: AllowedHosts): void {
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
function checkOrigin({ origin, site }: Provenance, allowed: AllowedHosts): void {
  const isForeign = origin !== null && !allowed.hasOrigin(origin);
  const isCrossSite = site !== null && site !== "same-origin" && site !== "none";
  if (!isForeign && !isCrossSite) return;
  throw new HttpProblem("forbidden", "Requests from other sites are not answered.");
}

/**
 * Whether the page that sent this was served by us. Cookies go along with requests of other ports
 * of this machine too, so a cookie counts only together with this.
 */
function isSameOrigin({ host, origin, site }: Provenance): boolean {
  if (host === null) return false;
  if (origin === null) return site === "same-origin";
  const [, rest] = /^https?:\/\/(.+)$/.exec(origin) ?? [];
  return rest === host.toLowerCase();
}
